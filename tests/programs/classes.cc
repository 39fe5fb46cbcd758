// Functions and classes of C++, for probes by their debug information.
#define KEEP __attribute__((noinline, used))
#define BARRIER __asm__ volatile("" ::: "memory")

namespace net {

struct base {
	long id = 71;
	virtual ~base() {}
};

struct owner {
	int *p;
	explicit owner(int *q) : p(q) {}
	owner(const owner &o) : p(o.p) {}
	~owner() { p = nullptr; }
};

class conn : public base {
public:
	enum class state : unsigned char { idle = 1, busy = 200 };
	int fd = 72;
	struct inner {
		short s = 73;
	} in;
	state st = state::busy;
	conn *next = nullptr;

	KEEP long send(const char *data, unsigned long len) const;
};

long conn::send(const char *data, unsigned long len) const
{
	BARRIER;
	return fd + data[0] + (long)len;
}

KEEP long take(int before, owner o, conn &c, int after)
{
	BARRIER;
	return *o.p + before + after + c.fd;
}

}

int main()
{
	net::conn c;
	int x = 81;

	return c.send("data", 4) + net::take(82, net::owner(&x), c, 83) == 0;
}
