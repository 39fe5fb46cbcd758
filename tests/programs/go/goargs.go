// Functions of Go with arguments of all kinds, each called once. Built by Go's optimiser and without it (goargs-N).
package main

import "fmt"

type point struct {
	x int32
	y int64
}

type named struct {
	id    int16
	name  string
	inner point
}

type shape interface{ area(scale int) int }

//go:noinline
func (p point) area(scale int) int { return int(p.x) * scale }

//go:noinline
func (p *point) move(dx int32, dy int64) { p.x += dx; p.y += dy }

//go:noinline
func numbers(a int8, b uint16, c int32, d uint64, e bool) int { return int(a) + int(b) + int(c) + int(d) }

//go:noinline
func texts(s string, list []int, m map[string]int, f func() int) (sum int, err error) {
	return len(s) + len(list) + len(m) + f(), nil
}

//go:noinline
func structs(p point, n named, last int) int64 { return int64(p.x) + p.y + int64(n.id) + int64(last) }

//go:noinline
func pointers(p *point, sh shape, any interface{}) int { return int(p.x) + sh.area(3) }

// The array, and the last number, are on the stack.
//
//go:noinline
func stack(a, b, c, d, e, f, g, h int, two [2]int, i, j int) int { return a + two[1] + i + j }

//go:noinline
func floats(a float64, n int, b float32) float64 { return a + float64(n) + float64(b) }

// Nothing here reads its first argument, which is passed all the same.
//
//go:noinline
func unused(first, second int) int { return second }

// Its frame is so large that the probe is not at the first instruction.
//
//go:noinline
func large(n int, s string) int {
	var a [100000]byte
	a[n%100000] = s[0]
	return int(a[(n+1)%100000]) + n
}

func main() {
	p := &point{7, 8}
	p.move(-2, 5)
	sum := p.area(2)
	sum += numbers(-3, 40000, -70000, 1<<40, true)
	n, _ := texts("hello", []int{1, 2, 3}, map[string]int{"a": 1}, func() int { return 4 })
	sum += n + int(structs(point{-1, -2}, named{12, "inner", point{3, 4}}, 99))
	sum += pointers(p, p, 5) + stack(1, 2, 3, 4, 5, 6, 7, 8, [2]int{21, 22}, 9, 10)
	sum += int(floats(1.5, 17, 2.5)) + unused(31, 32) + large(41, "large")
	fmt.Println(sum)
}
