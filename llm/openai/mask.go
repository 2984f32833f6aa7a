package openai

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// minSecret is the length in bytes from which a value is worth hiding; shorter
// ones ("none", "x") would blot out plain words.
const minSecret = 6

// masker hides the secrets of a config in texts that people read.
type masker struct{ replace *strings.Replacer }

func newMasker(cfg Config, base *url.URL, headers map[string]string) masker {
	secrets := []string{cfg.APIKey, base.User.Username()}
	if password, ok := base.User.Password(); ok {
		secrets = append(secrets, password)
	}
	for _, values := range base.Query() {
		secrets = append(secrets, values...)
	}
	for _, value := range headers {
		secrets = append(secrets, value)
		if _, token, ok := strings.Cut(value, " "); ok {
			secrets = append(secrets, token)
		}
	}
	var forms []string
	for _, s := range secrets {
		if s = strings.TrimSpace(s); len(s) >= minSecret {
			forms = append(forms, encodings(s)...)
		}
	}
	// The longest first: a secret may begin with another.
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, f := range slices.Compact(forms) {
		pairs = append(pairs, f, "[redacted]")
	}
	return masker{strings.NewReplacer(pairs...)}
}

// encodings lists the forms in which a server may repeat a secret.
func encodings(s string) []string {
	quoted, _ := json.Marshal(s)
	return []string{
		s, strings.Trim(string(quoted), `"`), url.QueryEscape(s), url.PathEscape(s),
		base64.StdEncoding.EncodeToString([]byte(s)),
	}
}

func (m masker) text(s string) string { return m.replace.Replace(s) }
