/* SPDX-License-Identifier: GPL-2.0-only */
/* What an image depends on (image/file.h), of the running kernel. */
#pragma once

#include "image/file.h"

/* Strings go to the arena. The image says which modules count. */
void kern_origin(const struct image *img, struct arena *a, struct image_origin *o);
