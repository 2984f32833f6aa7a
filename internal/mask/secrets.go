package mask

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"batch.example/batch/internal/lazy"
)

// KeyName reports whether a variable or a setting with that name holds a secret: the
// name has key or token at the end of a word, or secret, password, credential and similar
// words anywhere.
func KeyName(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(anywhere, func(word string) bool { return strings.Contains(name, word) }) ||
		slices.ContainsFunc(atEnd, func(word string) bool { return endsWord(name, word) })
}

// The names of secrets. Plurals that count things are left out: max_tokens. This is not
// a regular expression, because each start of the program would compile it.
var (
	anywhere = []string{"apikey", "api_key", "secret", "password", "credential", "authorization", "cookie"}
	atEnd    = []string{"key", "token", "passwd", "passphrase", "_pass", "-pass", "_pwd", "-pwd"} // of a word
)

// endsWord reports whether text has end where no letter follows it.
func endsWord(text, end string) bool {
	for {
		_, after, found := strings.Cut(text, end)
		if !found {
			return false
		}
		if after == "" || after[0] < 'a' || after[0] > 'z' {
			return true
		}
		text = after
	}
}

// Of returns the secrets in a setting that is used: its value if [KeyName] accepts the
// name, and the secrets in a URL, see [InURL].
func Of(name, value string) []Secret {
	found := InURL(name, value)
	if KeyName(name) {
		found = append(found, Secret{name, value})
		if _, token, ok := strings.Cut(value, " "); ok { // Bearer sk-...
			found = append(found, Secret{name, token})
		}
	}
	return found
}

// PassedOn returns the secrets in a variable that is set in a container, or in a header
// that is sent to a server: the secrets that [Of] finds, and the value under any other name
// if it [LooksSecret].
func PassedOn(name, value string) []Secret {
	found := Of(name, value)
	if LooksSecret(value) {
		found = append(found, Secret{name, value})
	}
	return found
}

// InEnvironment returns the secrets among the variables of a process, written
// NAME=VALUE. Those for which used returns true are settings, see [Of]. The others are
// not passed on: a value that [Of] finds in them is a secret only if [LooksSecret]
// accepts it.
func InEnvironment(environ []string, used func(name string) bool) []Secret {
	var found []Secret
	for _, variable := range environ {
		name, value, ok := strings.Cut(variable, "=")
		if !ok {
			continue
		}
		secrets := Of(name, value)
		if !used(name) {
			secrets = slices.DeleteFunc(secrets, func(s Secret) bool { return !LooksSecret(s.Value) })
		}
		found = append(found, secrets...)
	}
	return found
}

// InURL returns the password in a URL, or the user's name if there is no password, and
// the query's values under the name of a key. For a value that is not a URL it
// returns nil.
func InURL(name, value string) []Secret {
	if !strings.Contains(value, "://") {
		return nil
	}
	u, err := url.Parse(value)
	if err != nil {
		return nil
	}
	var found []Secret
	if password, ok := u.User.Password(); ok {
		_, asWritten, _ := strings.Cut(u.User.String(), ":")
		found = append(found, Secret{name, password}, Secret{name, asWritten})
	} else if u.User != nil {
		found = append(found, Secret{name, u.User.Username()})
	}
	for key, values := range u.Query() {
		for _, v := range values {
			if KeyName(key) {
				found = append(found, Secret{name, v})
			}
		}
	}
	return found
}

// userinfo matches the user and password in a URL.
var userinfo = lazy.Regexp(`(://[^/?#\s:@]*:)[^/?#\s]+@`)

// URL hides the password in every URL in text, known or not.
func URL(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	return userinfo().ReplaceAllString(text, "${1}"+Hidden+"@")
}

// InDockerConfig returns the passwords and tokens in the text of the docker
// command's config.json, or nil for any other text.
func InDockerConfig(text []byte) []Secret {
	var file struct {
		Auths map[string]struct {
			Auth          string `json:"auth"`
			Password      string `json:"password"`
			IdentityToken string `json:"identitytoken"`
			RegistryToken string `json:"registrytoken"`
		} `json:"auths"`
	}
	if json.Unmarshal(text, &file) != nil {
		return nil
	}
	var found []Secret
	for registry, login := range file.Auths {
		decoded, _ := base64.StdEncoding.DecodeString(login.Auth) // text that is not base64 is not a login
		_, password, _ := strings.Cut(strings.TrimRight(string(decoded), "\x00"), ":")
		for _, v := range []string{login.Auth, password, login.Password, login.IdentityToken, login.RegistryToken} {
			found = append(found, Secret{Name: "login for " + registry, Value: v})
		}
	}
	return found
}

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
