#pragma once
#include "more.h"
#include <linux/types.h>
#define CNT 3
struct pair { u32 a[CNT]; struct more m; };
