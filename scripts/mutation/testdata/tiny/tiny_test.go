package tiny

import "testing"

func TestHalf(t *testing.T) {
	if n, err := Half(8); n != 4 || err != nil {
		t.Error(n, err)
	}
	if n, err := Half(0); n != 0 || err != nil {
		t.Error(n, err)
	}
	if n, err := Half(-2); n != 0 || err == nil {
		t.Error(n, err)
	}
}

func TestLoose(t *testing.T) {
	if n := Loose(3); n != 3 {
		t.Error(n)
	}
}
