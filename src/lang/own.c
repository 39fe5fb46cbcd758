/* SPDX-License-Identifier: GPL-2.0-only */
/* What a script says itself, as opposed to what it reads from the traced system. */
#include "lang/compile.h"

bool expr_is_own(const struct expr *e)
{
	switch (e->kind) {
	case E_STR:
	case E_INT:
	case E_BOOL:
	case E_CONST:
		return true;
	case E_TERNARY:
		return e->ternary.yes && expr_is_own(e->ternary.yes) && expr_is_own(e->ternary.no);
	case E_VAR:
		return e->var.var && e->var.var->assign_cnt && e->var.var->own_cnt == e->var.var->assign_cnt;
	default:
		return false;
	}
}
