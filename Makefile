# A front for Meson, so that nobody needs to know it.
BUILD ?= build

.PHONY: all static clean
all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

$(BUILD)/build.ninja:
	@meson setup $(BUILD) >/dev/null

static: build-static/build.ninja
	@ninja -C build-static

build-static/build.ninja:
	@meson setup build-static -Dstatic_link=true --buildtype=release >/dev/null

clean:
	rm -rf build build-*
