package chat

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// rest takes all lines until the end, and returns the error that ended them.
func (b *inbox) rest() (lines []string, end error) {
	for {
		line, ok, wait, end := b.take()
		switch {
		case ok:
			lines = append(lines, line)
		case end != nil:
			return lines, end
		default:
			<-wait
		}
	}
}

func TestLinesComeInOrderUntilTheEnd(t *testing.T) {
	var want []string
	for i := range 200 {
		want = append(want, fmt.Sprint("line ", i))
	}
	text := strings.Join(want, "\r\n") // and without a newline at the end
	for name, onSight := range map[string]func(string) bool{"wanted": nil, "eager": func(string) bool { return false }} {
		b := newInbox(strings.NewReader(text), onSight)
		got, end := b.rest()
		if !slices.Equal(got, want) || !errors.Is(end, io.EOF) {
			t.Errorf("%s: %q, %v; want %d lines, %v", name, got, end, len(want), io.EOF)
		}
		b.close()
	}
}

func TestALineThatIsTakenOnSightWaitsForNobody(t *testing.T) {
	b := newInbox(strings.NewReader("a\nstop\nb\n"), func(line string) bool { return line == "stop" })
	defer b.close()
	if got, _ := b.rest(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %q, want a, b", got)
	}
}

func TestAnInboxHasLimits(t *testing.T) {
	long := newInbox(strings.NewReader("a\n"+strings.Repeat("x", maxLine+1)), nil)
	defer long.close()
	if got, end := long.rest(); !slices.Equal(got, []string{"a"}) || end == nil || !strings.Contains(end.Error(), "4 MiB") {
		t.Errorf("a long line: %d lines, %v; want 1, the limit named", len(got), end)
	}
	many := newInbox(strings.NewReader(strings.Repeat("x\n", maxWaiting+5)), func(string) bool { return false })
	defer many.close()
	for {
		_, _, wait, end := func() (string, bool, <-chan struct{}, error) {
			many.mu.Lock()
			defer many.mu.Unlock()
			return "", false, many.changed, many.end
		}()
		if end != nil {
			break
		}
		<-wait
	}
	if got, end := many.rest(); len(got) != maxWaiting || !strings.Contains(end.Error(), "wait for a question") {
		t.Errorf("many lines: %d lines, %v; want %d, the limit named", len(got), end, maxWaiting)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("the terminal is gone") }

func TestAReaderThatFailsEndsTheLines(t *testing.T) {
	b := newInbox(failing{}, nil)
	defer b.close()
	if got, end := b.rest(); len(got) != 0 || end == nil || end.Error() != "the terminal is gone" {
		t.Errorf("%q, %v; want no lines, the reader's error", got, end)
	}
}
