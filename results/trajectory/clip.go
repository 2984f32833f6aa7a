package trajectory

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// clipped is a text that may have lost its middle.
type clipped struct {
	text   string
	left   int64 // bytes that were left out
	kept   int64 // bytes before that, secrets included
	binary bool  // some are not UTF-8
}

// clip returns at most about most bytes, without secrets, as text.
func clip(b []byte, most int) clipped {
	c := clipped{binary: !utf8.Valid(b)}
	if most < 0 || len(b) <= most {
		c.text = toText(string(b), c.binary)
		return c
	}
	head, tail := most-most/2, len(b)-most/2
	for head > 0 && head > most-most/2-utf8.UTFMax && !utf8.RuneStart(b[head]) {
		head--
	}
	for tail < len(b) && tail < len(b)-most/2+utf8.UTFMax && !utf8.RuneStart(b[tail]) {
		tail++
	}
	c.left = int64(tail - head)
	c.text = toText(string(b[:head])+Gap(c.left)+string(b[tail:]), c.binary)
	return c
}

// Gap is the line that stands for bytes that were left out of a clipped text.
func Gap(bytes int64) string {
	return "\n[... " + strconv.FormatInt(bytes, 10) + " bytes are not shown ...]\n"
}

// toText replaces each byte that is not UTF-8.
func toText(s string, binary bool) string {
	if !binary {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		b.WriteRune(c)
	}
	return b.String()
}
