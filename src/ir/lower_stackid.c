/* The kernel's numbers for stacks.
 *
 * A stack as a key is up to a kilobyte, which is copied, hashed and compared for each event. The kernel can do all of that in one go: bpf_get_stackid() looks a stack
 * up in a table of its own and returns its place there. A key that ends in such a number is small, and has a slot (lower_slots.c).
 *
 * But the number cannot be trusted as it is. A place in the table belongs to the first stack that comes (others get an error), yet two CPUs that come
 * at once with different stacks both get it, and one of them is forgotten; and while user space reads a place, which is when it needs it most, the
 * kernel takes it out of the table, so that another stack may settle there for a moment. So:
 *
 *   Programs mark the numbers that they see, and use only those which user space knows. With any other, they take the frames and update the hash map, as they
 *   would without all this.
 *
 *   User space (run/stackids.c) looks for marks. When there are some, it makes programs stop asking for numbers (stack_ids_head.refusal) and waits until those that
 *   had asked before have ended. Now nobody touches the table. It reads the stacks that were marked, says that their numbers are known, and lets programs
 *   ask again. Whatever is in the table from then on stays there, since a place that is taken is not given away.
 *
 * Thus a number that is known stands for one stack, the one that was read; the places are never read while a program may look at them. The same
 * stack may be in slots and in the hash map: user space adds them up.
 */
#include "ir/lower.h"

#include "bpf/image.h"
#include "fn/fn.h"
#include "kern/uapi.h"

static vreg head_of(struct lower *l, const struct map *m)
{
	return ir_mapval(&l->b, MAP_IDX_DATA, m->stack_ids.off);
}

struct mem lower_key_by_stack_id(struct lower *l, struct expr *target, struct stack_id *id)
{
	const struct map *m = target->map.map;
	struct stack_id *outer = l->stack_id;
	struct mem key;

	*id = (struct stack_id){ .map = m, .of = expr_last_of_key(target->map.key) };
	/* One of fewer frames than the map has room for is not what the kernel's table would have. */
	if (id->of->type->cnt * 8 == l->image->maps.at[m->stack_ids.image_map].value_sz)
		l->stack_id = id;
	key = lower_map_key(l, target);
	l->stack_id = outer;
	return key;
}

vreg lower_stack_id(struct lower *l, u64 flags)
{
	const struct map *m = l->stack_id->map;
	vreg asked = ir_load(&l->b, head_of(l, m), offsetof(struct stack_ids_head, refusal), 8);

	if (flags)
		asked = ir_alu(&l->b, IR_OR, asked, opnd_imm(flags));
	return ir_call_of(&l->b, HELPER_get_stackid, opnd_reg(lower_ctx(l)), opnd_reg(ir_map(&l->b, m->stack_ids.image_map)), opnd_reg(asked));
}

void lower_stack_id_claim(struct lower *l, struct mem key, const struct stack_id *id, struct slot *s, struct ir_block *mine, struct ir_block *other)
{
	struct ir_block *is_one = ir_block_new(l->b.f), *is_known = ir_block_new(l->b.f), *mark_it = ir_block_new(l->b.f);
	const struct map *m = id->map;
	u32 mark = lower_mark(l);
	vreg state;

	mark_it->is_seldom = true;
	ir_br(&l->b, C_ULT, id->r, opnd_imm(m->stack_ids.cnt), is_one, other);
	ir_place(&l->b, is_one);
	state = ir_alu(&l->b, IR_ADD, head_of(l, m), opnd_reg(id->r));
	ir_br(&l->b, C_EQ, ir_load(&l->b, state, sizeof(struct stack_ids_head), 1), opnd_imm(STACK_ID_KNOWN), is_known, mark_it);
	ir_place(&l->b, mark_it);
	ir_store(&l->b, state, sizeof(struct stack_ids_head), 1, opnd_imm(STACK_ID_SEEN));
	ir_jmp(&l->b, other);
	ir_place(&l->b, is_known);
	/* Where the number of frames would be, the last of what precedes them. */
	ir_store(&l->b, key.base, key.off + m->slots.key_sz - 8, 8, opnd_reg(id->r));
	*s = lower_slot_by(l, m, key);
	lower_slot_claim(l, s, mine, other);
	lower_forget(l, mark);
}

void lower_stack_id_frames(struct lower *l, const struct stack_id *id)
{
	id->of->call.fn->lower(l, id->of, &id->at);
}
