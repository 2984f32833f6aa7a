package mask

import (
	"net/url"
	"regexp"
	"strings"
)

// KeyName reports whether a variable or a setting of that name holds a
// secret: whether it has key or token at the end of a word, or secret, password,
// credential and the like anywhere.
func KeyName(name string) bool { return keyName.MatchString(name) }

// Plurals are left out where they count things: max_tokens.
var keyName = regexp.MustCompile(`(?i)(key|token|passwd|passphrase)([^a-z]|$)|api_?key|secret|password|credential|authorization|cookie`)

// Secrets returns the secrets among variables, written NAME=VALUE: the values
// of those that [KeyName] knows, and of all others what is secret in an
// address, see [InURL].
func Secrets(environ []string) []Secret {
	var found []Secret
	for _, variable := range environ {
		if name, value, ok := strings.Cut(variable, "="); ok {
			found = append(found, Of(name, value)...)
		}
	}
	return found
}

// Of returns the secrets in a value of the given name.
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

// InURL returns the password in an address, with the user's name where that
// stands alone, and the values of its query that have a key's name. A value that
// is no address has none.
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

// userinfo is the part of an address that says who asks.
var userinfo = regexp.MustCompile(`(://[^/?#\s:@]*:)[^/?#\s]+@`)

// URL hides the password in every address in text, known or not.
func URL(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	return userinfo.ReplaceAllString(text, "${1}"+Hidden+"@")
}
