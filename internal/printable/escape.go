package printable

// Escape reads the escape of a terminal at the beginning of a text, which begins with ESC, and returns
// what follows it. If it sets colors, parameters has its numbers.
func Escape(text string) (parameters string, color bool, rest string) {
	if len(text) < 2 {
		return "", false, ""
	}
	switch text[1] {
	case '[': // CSI: parameters, then one final byte
		for i := 2; i < len(text); i++ {
			if c := text[i]; c >= 0x40 && c <= 0x7e {
				return text[2:i], c == 'm', text[i+1:]
			} else if c < 0x20 || c > 0x7e { // it is broken: show what follows
				return "", false, text[i:]
			}
		}
		return "", false, ""
	case ']', 'P', '^', '_', 'X': // strings for the terminal, to BEL or ST
		for i := 2; i < len(text); i++ {
			if text[i] == '\a' {
				return "", false, text[i+1:]
			}
			if text[i] == '\x1b' && i+1 < len(text) && text[i+1] == '\\' {
				return "", false, text[i+2:]
			}
			if text[i] == '\n' { // it has no end
				return "", false, text[i:]
			}
		}
		return "", false, ""
	}
	at := 1
	for at < len(text)-1 && text[at] >= 0x20 && text[at] < 0x30 { // before the final byte, as in ESC ( B
		at++
	}
	if text[at] < 0x20 || text[at] > 0x7e {
		return "", false, text[at:]
	}
	return "", false, text[at+1:]
}
