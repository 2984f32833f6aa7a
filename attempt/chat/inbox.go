package chat

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"
)

const (
	maxLine    = 4 << 20 // bytes of a line
	maxWaiting = 1000    // lines that were sent before a question
)

// inbox queues the person's lines until they are taken. One goroutine reads them. It ends only with
// its reader, since a read from a terminal cannot be cancelled.
type inbox struct {
	lines   *bufio.Scanner
	onSight func(line string) (taken bool) // handles each line when it arrives; nil: lines are read only on demand

	mu      sync.Mutex
	waiting []string
	end     error // why no more lines will come
	changed chan struct{}
	want    chan struct{}
	wanted  bool
}

func newInbox(r io.Reader, onSight func(string) bool) *inbox {
	b := &inbox{lines: bufio.NewScanner(r), onSight: onSight, changed: make(chan struct{}), want: make(chan struct{}, 1)}
	b.lines.Buffer(nil, maxLine)
	go b.read()
	return b
}

func (b *inbox) read() {
	for {
		if b.onSight == nil {
			if _, open := <-b.want; !open {
				return
			}
		}
		if !b.lines.Scan() {
			break
		}
		line := b.lines.Text()
		if b.onSight != nil && b.onSight(line) {
			continue
		}
		if !b.add(line) {
			return
		}
	}
	err := b.lines.Err()
	switch {
	case err == nil:
		err = io.EOF
	case errors.Is(err, bufio.ErrTooLong):
		err = errors.New("a line of more than 4 MiB")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.end = err
	b.arrived()
}

// add queues a line. It returns false if too many lines wait.
func (b *inbox) add(line string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.arrived()
	if len(b.waiting) >= maxWaiting {
		b.end = fmt.Errorf("more than %d lines wait for a question", maxWaiting)
		return false
	}
	b.waiting = append(b.waiting, line)
	return true
}

// close ends the goroutine, unless it is blocked in a read.
func (b *inbox) close() { close(b.want) }

// arrived wakes all waiters. The caller holds b.mu.
func (b *inbox) arrived() {
	b.wanted = false
	close(b.changed)
	b.changed = make(chan struct{})
}

// take returns the next line, the reason why no more lines will come, or a channel to wait on.
func (b *inbox) take() (line string, ok bool, wait <-chan struct{}, end error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) > 0 {
		line, b.waiting = b.waiting[0], b.waiting[1:]
		return line, true, nil, nil
	}
	if b.onSight == nil && b.end == nil && !b.wanted {
		b.wanted = true
		b.want <- struct{}{}
	}
	return "", false, b.changed, b.end
}
