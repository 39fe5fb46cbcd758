// C++ without frame pointers: virtual calls, a function object, and a stack that is taken while an exception looks for its handler.
#include <cstdio>
#include <functional>
#include <stdexcept>

#define FUNC __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))

volatile int sink;

extern "C" FUNC void leaf(int n)
{
	sink = sink + n;
	__asm__ volatile("" ::: "memory");
}

struct guard {
	FUNC ~guard()
	{
		leaf(2);
		sink = sink + 1;
	}
};

struct base {
	virtual ~base() {}
	virtual int work(int n) = 0;
};

struct derived : base {
	FUNC int work(int n) override
	{
		leaf(1);
		sink = sink + 1;
		return n;
	}
};

FUNC void thrower(int n)
{
	guard g;

	if (n)
		throw std::runtime_error("thrown");
	sink = sink + 1;
}

FUNC void catcher(int n)
{
	try {
		thrower(n);
	} catch (const std::exception &e) {
		sink = sink + 1;
	}
}

FUNC int call(const std::function<int(int)> &fn, int n)
{
	int r = fn(n);

	sink = sink + 1;
	return r;
}

int main(int argc, char **argv)
{
	derived d;
	base *b = &d;

	call([b](int n) { return b->work(n); }, argc);
	catcher(argc);
	return 0;
}
