package printable

import "testing"

func TestDollars(t *testing.T) {
	for v, want := range map[float64]string{
		0: "$0.00", 0.02: "$0.02", 0.015: "$0.015", 0.0249: "$0.025", 0.0301: "$0.03", 0.123: "$0.12", 0.5: "$0.50", 0.99: "$0.99", 0.9951: "$1.00",
		1: "$1.00", 12.345: "$12.35", 0.004: "$0.004", 0.00123: "$0.0012", 0.0000001: "$0.00", -0.024: "$-0.024",
	} {
		if got := Dollars(v); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
}

func TestAShareIsWholeOnlyIfItIs(t *testing.T) {
	for v, want := range map[float64]string{0: "0.0", 0.0004: "0.1", 0.123: "12.3", 0.9995: "99.9", 1 - 1e-12: "99.9", 1: "100.0"} {
		if got := Share(v); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
}
