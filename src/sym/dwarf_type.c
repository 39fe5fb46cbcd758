#include "sym/dwarf_int.h"

void dbg_types_init(struct dbg *d)
{
	(void)d;
}
