package limit

import (
	"crypto/sha256"
	"maps"
	"strconv"
	"strings"
	"sync"
)

// Pool holds the limiters of all keys of a process, so that runs with the same key share its limit. The zero
// value is ready to use. It is safe for concurrent use.
type Pool struct {
	mu       sync.Mutex
	limiters map[[sha256.Size]byte]*Limiter
}

// For returns the limiter of a provider's key at an address, the same one each time. The key itself is not
// kept. [Limiter.Restrict] adds known limits.
func (p *Pool) For(provider, address, key string) *Limiter {
	h := sha256.New()
	for _, part := range []string{provider, strings.TrimRight(address, "/"), key} {
		_, _ = h.Write([]byte(strconv.Itoa(len(part)) + " " + part))
	}
	id := [sha256.Size]byte(h.Sum(nil))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.limiters == nil {
		p.limiters = map[[sha256.Size]byte]*Limiter{}
	}
	l := p.limiters[id]
	if l == nil {
		if len(p.limiters) >= mostKept {
			maps.DeleteFunc(p.limiters, func(_ [sha256.Size]byte, l *Limiter) bool { return l.idle() })
		}
		l = New(Limits{})
		l.freeCache = freeCache[provider]
		p.limiters[id] = l
	}
	return l
}

// mostKept is the number of limiters that are kept before unused ones are forgotten: turns may bring any
// number of keys.
const mostKept = 4096

// idle reports whether no call is in flight or waits.
func (l *Limiter) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inFlight == 0 && len(l.queue) == 0
}

// freeCache lists the providers that do not count tokens read from their cache.
var freeCache = map[string]bool{"anthropic": true}
