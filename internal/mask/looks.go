package mask

import "strings"

// What a value must have to look like a secret, see [LooksSecret].
const (
	lookedAt   = 16 // letters and digits in a row
	leastKinds = 8  // different ones among them
	leastTurns = 4  // changes between digits, capitals and small letters
)

// LooksSecret reports whether a value looks like a generated key: it has 16 letters and
// digits in a row, at least 8 of them different, that change between digits, upper case
// and lower case at least 4 times. Other characters, except white space, are ignored. A
// change from upper to lower case does not count, because words begin that way.
//
// The usual kinds of keys look like that: 32 hexadecimal digits, a UUID, 32 letters and
// digits, 24 bytes in base64; about one in a thousand of them does not. Words,
// names, paths, dates, numbers, passwords that people think of, and
// everything with fewer than 16 letters and digits do not.
func LooksSecret(value string) bool {
	for word := range strings.FieldsSeq(value) {
		row := lettersAndDigits(word)
		for i := 0; i+lookedAt <= len(row); i++ {
			if kinds, turns := mixture(row[i : i+lookedAt]); kinds >= leastKinds && turns >= leastTurns {
				return true
			}
		}
	}
	return false
}

// lettersAndDigits returns the letters and digits of a word.
func lettersAndDigits(word string) []byte {
	var row []byte
	for i := range len(word) {
		if classOf(word[i]) != 0 {
			row = append(row, word[i])
		}
	}
	return row
}

// mixture counts the different characters in row, and how often their class changes.
func mixture(row []byte) (kinds, turns int) {
	var seen [256]bool
	for i, c := range row {
		if !seen[c] {
			seen[c] = true
			kinds++
		}
		if i == 0 {
			continue
		}
		before, now := classOf(row[i-1]), classOf(c)
		if before != now && !(before == 'A' && now == 'a') {
			turns++
		}
	}
	return kinds, turns
}

// classOf returns a, A or 0 for an ASCII lower-case letter, upper-case letter or digit,
// and NUL for everything else.
func classOf(c byte) byte {
	switch {
	case 'a' <= c && c <= 'z':
		return 'a'
	case 'A' <= c && c <= 'Z':
		return 'A'
	case '0' <= c && c <= '9':
		return '0'
	}
	return 0
}
