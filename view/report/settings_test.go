package report

import (
	"strings"
	"testing"
)

func TestASecretOfSeveralLinesIsHiddenInASetting(t *testing.T) {
	s := study{hide: func(text string) string { return strings.ReplaceAll(text, "key-1\nkey-2", "********") }}
	if c := s.setting(`"key-1\nkey-2\nend"`); c.Name != "******** (2 lines)" {
		t.Errorf("%+v", c)
	}
}
