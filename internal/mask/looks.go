package mask

import "strings"

// What a value has to have to look like a secret, see [LooksSecret].
const (
	lookedAt   = 16 // letters and digits in a row
	leastKinds = 8  // different ones among them
	leastTurns = 4  // changes between digits, capitals and small letters
)

// LooksSecret reports whether a value looks like a generated key. It does when
// 16 letters and digits in a row, of which at least 8 are different, take turns
// between digits, capitals and small letters at least 4 times. Other characters
// than white space are passed over. From a capital to a small letter is no turn,
// since words begin so.
//
// Keys of the usual kinds look so: 32 hexadecimal digits, a UUID, 32 letters and
// digits, 24 bytes in base64; about one in a thousand of them does not. Words,
// names, paths, dates, numbers, what people think of as a password, and
// everything of fewer than 16 letters and digits does not.
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

// lettersAndDigits are those of a word, without what stands between them.
func lettersAndDigits(word string) []byte {
	var row []byte
	for i := range len(word) {
		if classOf(word[i]) != 0 {
			row = append(row, word[i])
		}
	}
	return row
}

// mixture counts the different characters in row, and how often they take turns.
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

// classOf returns a, A or 0 for a small letter, a capital or a digit of ASCII,
// and NUL for all else.
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
