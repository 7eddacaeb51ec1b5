package laws

import "testing"

func BenchmarkClosed(b *testing.B) {
	c := Closed{1000, 1.5, []Station{{"pool", 0.106, 90}, {"sink", 0.001, 1}}}
	for b.Loop() {
		if _, err := c.Solve(); err != nil {
			b.Fatal(err)
		}
	}
}
