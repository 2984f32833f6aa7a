package docker

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzWire cuts the stream anywhere: the output must come out whole and the end
// be found.
func FuzzWire(f *testing.F) {
	f.Add([]byte("hello"), 3, 1000)
	f.Add([]byte("\x00\xff no newline"), 1, 4)
	f.Add([]byte(""), 7, 0)
	f.Add(bytes.Repeat([]byte("a line\n"), 90), 2, 10)
	f.Add([]byte("WORDe 1 1x\nWORDs \nWORD"), 5, 100)
	f.Fuzz(func(t *testing.T, data []byte, step, limit int) {
		if step < 1 || limit < 0 || limit > 1<<20 || len(data) > 1<<16 {
			return
		}
		w := newWire()
		// A command that has found the word and prints it, but no whole saying.
		data = bytes.ReplaceAll(data, []byte("WORDs\n"), nil)
		data = bytes.ReplaceAll(data, []byte("WORD"), append(bytes.Clone(w.word), ' '))
		out := newCapped(int64(limit), nil)
		w.begin(out)
		for rest := append(bytes.Clone(data), string(w.word)+"e 42 1\n"...); len(rest) > 0; {
			n := min(step, len(rest))
			if _, err := w.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		select {
		case s := <-w.said:
			if diff := cmp.Diff(saying{'e', 42, 1}, s, cmp.AllowUnexported(saying{})); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
		default:
			t.Fatal("the end was not found")
		}
		if out.total != int64(len(data)) || !w.clean() {
			t.Fatalf("%d of %d bytes, clean %v", out.total, len(data), w.clean())
		}
		want := data
		if limit == 0 {
			limit = MaxOutput
		}
		if len(data) > limit {
			want = append(bytes.Clone(data[:limit-limit/2]), data[len(data)-limit/2:]...)
		}
		if got := out.bytes(); !bytes.Equal(got, want) {
			t.Errorf("kept %q, want %q", got, want)
		}
	})
}

func TestWhatComesBetweenCommandsIsNobodys(t *testing.T) {
	w := newWire()
	for _, text := range []string{"banner", string(w.word[:9]), "\n", string(w.word) + "g 7 99\n"} {
		_, _ = w.Write([]byte(text))
	}
	if s := <-w.said; s.kind != 'g' || s.a != 7 || !w.clean() {
		t.Fatalf("said %+v, clean %v", s, w.clean())
	}
	out := newCapped(0, nil)
	w.begin(out)
	_, _ = w.Write([]byte("mine" + string(w.word) + "e 0 0\nx"))
	<-w.said
	if string(out.bytes()) != "mine" || w.clean() {
		t.Errorf("output %q, clean %v with a byte behind the end", out.bytes(), w.clean())
	}
}

func TestARequestHasAHeadOf59Bytes(t *testing.T) {
	w := newWire()
	got := string(request(string(w.word), "/é", "echo \xff\x00\n"))
	if want := string(w.word) + " 000000000000003 000000000000007\n/éecho \xff\n"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if at := strings.IndexByte(got, '\n'); at != 58 {
		t.Errorf("the head ends at %d", at)
	}
}

// What comes between commands belongs to none: the shell is not clean until it
// was asked anew.
func TestWhatComesBetweenCommandsMakesAShellUnclean(t *testing.T) {
	write := func(w *wire, text string) {
		t.Helper()
		if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
	}
	w := newWire()
	if !w.clean() {
		t.Fatal("a new one is not clean")
	}
	write(w, "noise\n")
	if w.clean() {
		t.Error("clean with noise before any command")
	}
	w.renew()
	if !w.clean() {
		t.Error("not clean once it was renewed")
	}
	write(w, string(w.word)+"s\n") // the child in waiting was killed
	if w.clean() {
		t.Error("clean with something said that nobody heard")
	}
	w.renew()
	out := newCapped(0, nil)
	w.begin(out)
	write(w, "part of "+string(w.word[:5]))
	w.end()
	if got := string(out.bytes()); got != "part of "+string(w.word[:5]) {
		t.Errorf("kept %q of a stream that ended", got)
	}
	write(w, "late")
	if got := string(out.bytes()); strings.Contains(got, "late") {
		t.Errorf("what came after the end is the command's: %q", got)
	}
}
