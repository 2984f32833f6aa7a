package docker

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

// shell is one dispatcher with the connection to it. One command at a time
// runs in it.
type shell struct {
	key    string // of the commands it is for
	warm   bool   // and may be asked whether it is free
	stream *stream
	wire   *wire
	pid    int // in the container

	// The machine's clock, in ticks of 10 ms, at a time of ours.
	ticks int
	at    time.Time
}

// shells are those of one container. The zero value is ready for use.
type shells struct {
	mu      sync.Mutex
	idle    []*shell
	retired []*shell // their output is held by processes that commands left; read and thrown away
	unfit   map[string]bool
	closed  bool
}

// maxIdle is how many shells wait for a command; more than one only when
// commands ran at the same time.
const maxIdle = 2

// errClosed ends a command in a container that has been removed.
var errClosed = errors.New("the container has been removed")

// errNoShell is the end of a dispatcher that never was ready.
var errNoShell = errors.New("no shell could be started in it")

// take returns an idle shell for commands like cmd, or one whose output nobody
// holds any more, or opens one.
func (c *Container) take(ctx context.Context, cmd Command) (*shell, error) {
	key := cmd.shellKey()
	p := &c.shells
	if s := p.pick(key); s != nil {
		return s, nil
	}
	for range maxAsked {
		s := p.held(key)
		if s == nil {
			break
		}
		if s.free(ctx) {
			return s, nil
		}
		p.retire(s)
	}
	p.mu.Lock()
	closed, fresh := p.closed, cmd.Fresh || p.unfit[key]
	p.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	return c.openShell(ctx, cmd, key, fresh)
}

// pick takes an idle shell for key, and sorts out those that are of no use.
func (p *shells) pick(key string) (found *shell) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = slices.DeleteFunc(p.idle, func(s *shell) bool {
		switch {
		case s.stream.ended() || !s.wire.clean():
			p.retired = append(p.retired, s)
			return true
		case found == nil && s.key == key:
			found = s
			return true
		}
		return false
	})
	return found
}

// maxAsked is how many retired shells are asked whether they are free again.
const maxAsked = 2

// held takes the retired shell for key that has waited longest, and closes those
// that ended.
func (p *shells) held(key string) (oldest *shell) {
	var dead []*shell
	p.mu.Lock()
	p.retired = slices.DeleteFunc(p.retired, func(s *shell) bool {
		switch {
		case s.stream.ended():
			dead = append(dead, s)
			return true
		case oldest == nil && s.key == key && s.warm:
			oldest = s
			return true
		}
		return false
	})
	p.mu.Unlock()
	for _, s := range dead {
		s.stream.close()
	}
	return oldest
}

// askLimit is how long a retired shell may think about whether it is free.
const askLimit = 5 * time.Second

// free asks a retired shell whether its output is held. One that does not say
// is not asked again.
func (s *shell) free(ctx context.Context) bool {
	s.wire.renew()
	how, said := s.run(ctx, newCapped(0, nil), "/", Command{Script: freeScript, Timeout: askLimit})
	if how != ended {
		s.warm = false
	}
	return how == ended && said.a == 0 && said.b == 0
}

func (p *shells) retire(s *shell) {
	p.mu.Lock()
	drop := p.closed
	if !drop {
		p.retired = append(p.retired, s)
	}
	p.mu.Unlock()
	if drop {
		s.stream.close()
	}
}

// shellKey tells commands apart that need different shells.
func (cmd Command) shellKey() string {
	parts := append([]string{strings.Join(cmd.Args, "\x00")}, cmd.Env...)
	if cmd.Fresh {
		parts = append(parts, "fresh")
	}
	return strings.Join(parts, "\x01")
}

// openShell starts a dispatcher and waits until it is ready. One whose start
// files it cannot live with is replaced by a fresh one.
func (c *Container) openShell(ctx context.Context, cmd Command, key string, fresh bool) (*shell, error) {
	argv, warm := dispatcherArgs(cmd.Args, fresh)
	sh := &shell{key: key, warm: warm, wire: newWire()}
	limited, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	var err error
	if sh.stream, err = c.open(limited, execution{
		argv: argv, env: cmd.Env, stdin: true, out: sh.wire, diag: io.Discard,
	}); err != nil {
		return nil, err
	}
	sh.stream.send([]byte(string(sh.wire.word) + "\n"))
	said, err := sh.greeting(limited)
	if err == nil {
		sh.pid, sh.ticks, sh.at = said.a, said.b, time.Now()
		c.worked.Store(true)
		return sh, nil
	}
	sh.stream.close() // a dispatcher whose stdin ends does so too
	if !warm || ctx.Err() != nil {
		return nil, err
	}
	c.shells.markUnfit(key) // a start file ended it, left it as it cannot work, or hangs
	return c.openShell(ctx, cmd, key, true)
}

func (s *shell) greeting(ctx context.Context) (saying, error) {
	select {
	case said := <-s.wire.said:
		return said, nil
	case <-s.stream.done:
		return saying{}, errNoShell
	case <-ctx.Done():
		return saying{}, ctx.Err()
	}
}

func (p *shells) markUnfit(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unfit == nil {
		p.unfit = map[string]bool{}
	}
	p.unfit[key] = true
}

// put takes a shell back whose command has ended. One whose output is still
// held is retired: what comes then belongs to no command.
func (p *shells) put(s *shell, held int) {
	s.warm = s.warm && held < 2 // a request to it could be read by another
	p.mu.Lock()
	keep := !p.closed && held == 0 && s.wire.clean() && len(p.idle) < maxIdle
	if keep {
		p.idle = append(p.idle, s)
	}
	p.mu.Unlock()
	if !keep {
		p.retire(s)
	}
}

// close ends the connections. The container is gone, and with it all that ran.
func (p *shells) close() {
	p.mu.Lock()
	all := slices.Concat(p.idle, p.retired)
	p.idle, p.retired, p.closed = nil, nil, true
	p.mu.Unlock()
	for _, s := range all {
		s.stream.close()
	}
}

// outcome is how waiting for a command ended.
type outcome int

const (
	ended     outcome = iota
	refused           // the command was not run
	broken            // the dispatcher is gone
	timedOut          // the command goes on
	cancelled         // so it does
)

// run offers the command to the dispatcher and waits for what becomes of it.
func (s *shell) run(ctx context.Context, out *capped, dir string, cmd Command) (outcome, saying) {
	s.wire.begin(out)
	s.stream.send(request(string(s.wire.word), dir, cmd.Script))
	var expired <-chan time.Time
	if cmd.Timeout > 0 {
		t := time.NewTimer(cmd.Timeout)
		defer t.Stop()
		expired = t.C
	}
	select {
	case said := <-s.wire.said:
		return verdict(said), said
	case <-s.stream.done:
		select { // the last word may have come with the end
		case said := <-s.wire.said:
			return verdict(said), said
		default:
			return broken, saying{}
		}
	case <-ctx.Done():
		return cancelled, saying{}
	case <-expired:
		return timedOut, saying{}
	}
}

func verdict(said saying) outcome {
	switch said.kind {
	case 'e':
		return ended
	case 's':
		return refused
	default:
		return broken
	}
}
