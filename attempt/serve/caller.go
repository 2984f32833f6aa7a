package serve

import (
	"bufio"
	"context"
	"crypto/sha256"
	"net/http"
	"strings"

	"batch.example/batch/fault"
)

// everybody is the name of anonymous callers.
const everybody = "local"

// caller identifies the author of a request.
type caller struct {
	name     string
	modelKey string // of this request only
}

type callerKey struct{}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// Tokens are the bearer tokens of callers. Only their digests are kept. Without Tokens, all callers share
// one name.
type Tokens struct{ names map[[sha256.Size]byte]string }

// minToken is the minimum length of a token in bytes.
const minToken = 16

// ParseTokens reads lines of the form NAME: TOKEN. Empty lines and lines that begin with # are
// ignored. A caller may have several tokens. Errors are Usage faults that name the line and contain
// no token.
func ParseTokens(text string) (*Tokens, error) {
	t := &Tokens{names: map[[sha256.Size]byte]string{}}
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, token, ok := strings.Cut(line, ":")
		name, token = strings.TrimSpace(name), strings.TrimSpace(token)
		sum := sha256.Sum256([]byte(token))
		switch {
		case !ok || name == "" || strings.ContainsAny(name, " \t"):
			return nil, fault.Newf(fault.Usage, "line %d of the tokens: expected NAME: TOKEN", n)
		case len(token) < minToken:
			return nil, fault.Newf(fault.Usage, "line %d of the tokens: the token of %s is shorter than %d characters", n, name, minToken).
				WithHint("make one with `openssl rand -hex 32`")
		case t.names[sum] != "":
			return nil, fault.Newf(fault.Usage, "line %d of the tokens: it is the token of an earlier line", n)
		}
		t.names[sum] = name
	}
	if err := lines.Err(); err != nil {
		return nil, fault.New(fault.Usage, "reading the tokens", err)
	}
	if len(t.names) == 0 {
		return nil, fault.Newf(fault.Usage, "there are no tokens")
	}
	return t, nil
}

// identify returns the caller of a request; ok is false for strangers. It compares digests, so that
// the time it takes reveals nothing about a token.
func (t *Tokens) identify(r *http.Request) (who caller, ok bool) {
	who.name = everybody
	if t == nil {
		return who, true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return who, false
	}
	who.name, ok = t.names[sha256.Sum256([]byte(strings.TrimSpace(token)))]
	return who, ok
}
