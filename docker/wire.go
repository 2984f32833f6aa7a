package docker

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
)

// The word of a shell is rand.Text, of 26 bytes; a head holds it and two lengths.
const wordLen = 26

// request is one command in the form a dispatcher reads. NUL bytes are left
// out of the script, as every shell must.
func request(word, dir, script string) []byte {
	script = strings.ReplaceAll(script, "\x00", "")
	b := make([]byte, 0, wordLen+33+len(dir)+len(script))
	b = fmt.Appendf(b, "%s %015d %015d\n", word, len(dir), len(script))
	b = append(b, dir...)
	return append(b, script...)
}

// saying is one line of a dispatcher: its letter and its numbers.
type saying struct {
	kind byte
	a, b int
}

// maxSaying is the longest line a dispatcher says, behind the word.
const maxSaying = 32

// wire takes a dispatcher's stdout apart into the output of commands and what
// the dispatcher says. Its Write is called by the copying goroutine alone.
type wire struct {
	word  []byte
	said  chan saying
	held  []byte // the last bytes, as long as they may be the beginning of a saying
	mu    sync.Mutex
	out   *capped // of the command under way; nil between commands
	stray bool    // there was output that belongs to no command
}

func newWire() *wire {
	return &wire{word: []byte(rand.Text()), said: make(chan saying, 1)}
}

// begin directs what comes to out, until the command's end is said.
func (w *wire) begin(out *capped) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out = out
}

// end stops the command's output. It passes on what was held back, when the
// stream has ended without a saying.
func (w *wire) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pass(w.held)
	w.held, w.out = nil, nil
}

// renew forgets what came between commands.
func (w *wire) renew() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held, w.stray = nil, false
	select {
	case <-w.said: // that the child in waiting was killed
	default:
	}
}

// clean reports whether all that came belonged to a command.
func (w *wire) clean() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.stray && len(w.held) == 0 && len(w.said) == 0
}

func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	buf := p
	if len(w.held) > 0 {
		buf = append(w.held, p...)
	}
	for {
		at := bytes.Index(buf, w.word)
		if at < 0 {
			break
		}
		line, rest, whole := bytes.Cut(buf[at+wordLen:], []byte("\n"))
		if !whole && len(line) <= maxSaying {
			w.pass(buf[:at])
			w.held = append(w.held[:0], buf[at:]...)
			return len(p), nil
		}
		s, ok := parseSaying(line)
		if !ok || !whole { // the command has found the word and prints it
			w.pass(buf[:at+wordLen])
			buf = buf[at+wordLen:]
			continue
		}
		w.pass(buf[:at])
		w.out = nil
		if s.kind == 'g' {
			w.stray = false // what the start files print is nobody's
		}
		w.tell(s)
		buf = rest
	}
	keep := max(0, len(buf)-wordLen+1)
	w.pass(buf[:keep])
	w.held = append(w.held[:0], buf[keep:]...)
	return len(p), nil
}

func (w *wire) pass(p []byte) {
	switch {
	case w.out != nil:
		w.out.add(p)
	case len(p) > 0:
		w.stray = true
	}
}

func (w *wire) tell(s saying) {
	select {
	case w.said <- s:
	default: // nobody asked for so many
		w.stray = true
	}
}

func parseSaying(line []byte) (s saying, ok bool) {
	if len(line) == 0 {
		return s, false
	}
	s.kind = line[0]
	var err error
	switch rest := string(line[1:]); s.kind {
	case 's':
		return s, rest == ""
	case 'g', 'e':
		_, err = fmt.Sscanf(rest+"\n", " %d %d\n", &s.a, &s.b)
	default:
		return s, false
	}
	return s, err == nil
}
