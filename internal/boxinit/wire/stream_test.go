package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

var testKey = Key{1, 2, 3}

// written returns a connection's frames in the form of the stream.
func written(t testing.TB, connection uint64, frames ...Frame) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, testKey, Init)
	if err := w.Begin(connection, Frame{Kind: KindWelcome, Data: Encode(Welcome{Connection: connection})}); err != nil {
		t.Fatal(err)
	}
	for _, f := range frames {
		if err := w.Write(connection, f); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// read returns the frames after the last Welcome in the stream, and how often a
// forgery was reported.
func read(t testing.TB, r io.Reader, from Side) (frames []Frame, forged int) {
	t.Helper()
	in := NewReader(r, testKey, from)
	for {
		f, began, err := in.Next()
		switch {
		case errors.Is(err, ErrForged):
			forged++
		case err != nil:
			return frames, forged
		case began:
			var m Welcome
			if f.Kind == KindWelcome && Decode(f.Data, &m) == nil {
				in.Begin(m.Connection)
				frames = nil
			}
		default:
			frames = append(frames, Frame{f.Kind, f.ID, slices.Clone(f.Data)})
		}
	}
}

var some = []Frame{
	{KindOutput, "a", []byte("one")},
	{KindOutput, "", nil},
	{KindOutput, "b", bytes.Repeat([]byte{0, 255}, 100_000)},
	{KindResult, "c", Encode(Result{Code: 3})},
}

func same(a, b []Frame) bool {
	return slices.EqualFunc(a, b, func(x, y Frame) bool { return x.Kind == y.Kind && x.ID == y.ID && bytes.Equal(x.Data, y.Data) })
}

func TestFramesRoundTrip(t *testing.T) {
	stream := written(t, 7, some...)
	for name, r := range map[string]io.Reader{
		"whole": bytes.NewReader(stream), "byte by byte": iotest.OneByteReader(bytes.NewReader(stream)),
		"behind what is left of another": io.MultiReader(bytes.NewReader(written(t, 6, some...)[50:70000]), bytes.NewReader(stream)),
		"behind noise":                   io.MultiReader(bytes.NewReader(bytes.Repeat([]byte("noise"), 99)), bytes.NewReader(stream)),
	} {
		if got, forged := read(t, r, Init); !same(got, some) || forged != 0 {
			t.Errorf("%s: got %d frames and %d forgeries, want the written frames and none", name, len(got), forged)
		}
	}
}

// Whatever is changed, removed, inserted or repeated, no frame is accepted that was not
// written at its place; and the next connection is read completely.
func TestForgedFramesAreNotAccepted(t *testing.T) {
	frames := []Frame{{KindOutput, "a", []byte("one")}, {KindOutput, "b", []byte("two")}, {KindResult, "c", []byte("three")}}
	stream := written(t, 7, frames...)
	begin := len(written(t, 7))
	first := len(written(t, 7, frames[0])) - begin
	other := func(key Key, side Side) []byte {
		var b bytes.Buffer
		w := NewWriter(&b, key, side)
		_ = w.Begin(7, Frame{Kind: KindWelcome, Data: Encode(Welcome{Connection: 7})})
		b.Reset()
		_ = w.Write(7, frames[0])
		return b.Bytes()
	}
	forgeries := map[string][]byte{
		"a frame twice":           slices.Concat(stream[:begin+first], stream[begin:]),
		"a frame less":            slices.Concat(stream[:begin], stream[begin+first:]),
		"the other side's frame":  slices.Concat(stream[:begin], other(testKey, Runner), stream[begin:]),
		"another container's":     slices.Concat(stream[:begin], other(Key{9}, Init), stream[begin:]),
		"an older connection's":   slices.Concat(stream[:begin], written(t, 6, frames...)[begin:]),
		"no length":               slices.Concat(stream[:begin], make([]byte, 4), stream[begin:]),
		"a length beyond all":     slices.Concat(stream[:begin], []byte{255, 255, 255, 255}, stream[begin:]),
		"a length to wait for":    slices.Concat(stream[:begin], []byte{0, 0, 255, 255}, stream[begin:]),
		"an id longer than it is": slices.Concat(stream[:begin], []byte{0, 0, 0, 18, 1, 200}, make([]byte, 16), stream[begin:]),
	}
	for i := begin; i < len(stream); i++ {
		changed := slices.Clone(stream)
		changed[i] ^= 4
		forgeries[fmt.Sprintf("byte %d changed", i)] = changed
	}
	for name, forgery := range forgeries {
		got, _ := read(t, bytes.NewReader(forgery), Init)
		for i, f := range got {
			if i >= len(frames) || !same([]Frame{f}, frames[i:i+1]) {
				t.Errorf("%s: accepted the forged frame %+v", name, f)
			}
		}
		again := io.MultiReader(bytes.NewReader(forgery), bytes.NewReader(written(t, 8, some...)))
		if got, _ := read(t, again, Init); !same(got, some) {
			t.Errorf("%s: the next connection has %d frames", name, len(got))
		}
	}
}

func TestMessagesRoundTrip(t *testing.T) {
	check := func(want, got any, err error) {
		t.Helper()
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Error(d, err)
		}
	}
	hello, h := Hello{Version: 1, Connection: 1 << 63, Lease: 5, Again: true}, Hello{}
	err := Decode(Encode(hello), &h)
	check(hello, h, err)
	welcome, w := Welcome{Version: 1, Connection: 2, Again: true}, Welcome{}
	err = Decode(Encode(welcome), &w)
	check(welcome, w, err)
	run, r := Run{
		Args: []string{"bash", "-c"}, Env: []string{"A=b", ""}, Dir: "/x", Script: "a\x00\xff", Timeout: 1, Limit: 2,
		Ask: true, Ahead: true, Forget: []string{"1.1"}, Name: "x", Silence: 7,
	}, Run{}
	err = Decode(Encode(run), &r)
	check(run, r, err)
	result, s := Result{Code: 137, TimedOut: true, OOM: true, Alive: true, Total: 1 << 40, Nanos: 9}, Result{}
	err = Decode(Encode(result), &s)
	check(result, s, err)
	put, p := Put{Path: "/x", Mode: 0o644, Data: []byte("data")}, Put{}
	err = Decode(Encode(put), &p)
	check(put, p, err)
	get, g := Get{Path: "/x", Limit: 3}, Get{}
	err = Decode(Encode(get), &g)
	check(get, g, err)
	done, d := Done{Errno: 2, Message: "no"}, Done{}
	err = Decode(Encode(done), &d)
	check(done, d, err)
	more, m := More{Limit: 8}, More{}
	err = Decode(Encode(more), &m)
	check(more, m, err)
}

// FuzzReader puts any bytes between two connections in the stream.
func FuzzReader(f *testing.F) {
	whole := written(f, 7, some[0], some[3])
	f.Add(whole, uint16(0))
	f.Add([]byte{0, 0, 0, 20, 1, 1}, uint16(90))
	f.Fuzz(func(t *testing.T, noise []byte, at uint16) {
		cut := min(int(at), len(whole))
		stream := slices.Concat(whole[:cut], noise, written(t, 8, some...))
		if got, _ := read(t, bytes.NewReader(stream), Init); !same(got, some) {
			t.Errorf("got %d frames, want the frames of the second connection", len(got))
		}
	})
}

// FuzzMessages reads any bytes as a message.
func FuzzMessages(f *testing.F) {
	f.Add(Encode(Run{Args: []string{"a"}, Forget: []string{"b"}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		var run Run
		if Decode(b, &run) == nil {
			var again Run
			if err := Decode(Encode(run), &again); err != nil || !cmp.Equal(run, again) {
				t.Errorf("got %+v after writing and reading, error %v", again, err)
			}
		}
		for _, m := range []message{
			new(Hello), new(Welcome), new(More), new(Result), new(Put), new(Get), new(Done),
		} {
			_ = Decode(b, m)
		}
	})
}

// A connection waits most of the time, and there are as many as agents.
func TestAReaderThatWaitsHoldsLittle(t *testing.T) {
	in := NewReader(bytes.NewReader(written(t, 7, some...)), testKey, Init)
	for {
		f, began, err := in.Next()
		if err != nil {
			break
		}
		if began {
			in.Begin(7)
		}
		if f.ID == "c" && len(in.buf) > 0 {
			t.Errorf("%d bytes are left behind the last frame", len(in.buf))
		}
	}
	if n := cap(in.memory); n > room {
		t.Errorf("it holds %d bytes, want at most %d", n, room)
	}
}

func TestAFrameCostsFewAllocations(t *testing.T) {
	w := NewWriter(io.Discard, testKey, Runner)
	if err := w.Begin(1, Frame{Kind: KindHello}); err != nil {
		t.Fatal(err)
	}
	f := Frame{KindRun, "1.1", Encode(Run{Script: "true"})}
	got := testing.AllocsPerRun(100, func() {
		if err := w.Write(1, f); err != nil {
			t.Error(err)
		}
	})
	if got > 3 {
		t.Errorf("got %v allocations, want at most 3", got)
	}
}
