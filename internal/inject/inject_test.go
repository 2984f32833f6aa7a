package inject_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/internal/inject"
)

func parse(t testing.TB, spec string) *inject.Plan {
	t.Helper()
	p, err := inject.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// passes returns the result of each pass through the points: a dot, or an errno.
func passes(p *inject.Plan, points ...string) string {
	var got []string
	for _, point := range points {
		err := p.At(point)
		switch errno, ok := errors.AsType[syscall.Errno](err); {
		case err == nil:
			got = append(got, ".")
		case ok:
			got = append(got, errno.Error())
		default:
			got = append(got, err.Error())
		}
	}
	return strings.Join(got, " ")
}

func TestARuleActsAtItsPasses(t *testing.T) {
	const io, full = "input/output error", "no space left on device"
	for spec, want := range map[string]string{
		"":                                ". . . .",
		"file.sync:1=EIO":                 ". " + io + " . .",
		"file.sync:2=EIO":                 ". . . .",
		"sync:2=EIO":                      ". . " + io + " .",
		"sync:*=EIO":                      ". " + io + " " + io + " .",
		"sync:2+=ENOSPC":                  ". . " + full + " .",
		"file:2+=ENOSPC":                  ". " + full + " . " + full,
		"*:4=EIO":                         ". . . " + io,
		"fil:*=EIO":                       ". . . .",
		"sync:2=EIO,dir.sync:1=ENOSPC":    ". . " + io + " .",
		"dir.sync:1=ENOSPC,sync:2=EIO":    ". . " + full + " .",
		"sync:1=ENOSPC,file.rename:*=EIO": ". " + full + " . " + io,
	} {
		if got := passes(parse(t, spec), "file.write", "file.sync", "dir.sync", "file.rename"); got != want {
			t.Errorf("%q: %s, want %s", spec, got, want)
		}
	}
}

func TestTheErrorOfAPass(t *testing.T) {
	p := parse(t, "journal.write:1=ENOSPC,engine.create:1=503")
	if err := p.At("journal.write"); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "injected at journal.write") {
		t.Errorf("got %v, want ENOSPC and the point", err)
	}
	var status interface{ StatusCode() int }
	if err := p.At("engine.create"); !errors.As(err, &status) || status.StatusCode() != 503 {
		t.Errorf("got %v, want an answer with status 503", err)
	}
}

func TestAnInvalidSpecIsRefused(t *testing.T) {
	for _, spec := range []string{
		"x", "x:1", "x=EIO", "x:0=EIO", "x:-1=EIO", "x:one=EIO", "x:=EIO", "x:1=", "x:1=EWHAT", "x:1=5", "x:1=200", "x:1=600",
		":1=EIO", "X:1=EIO", "x.:1=EIO", "x:1=EIO,", "x:99999999999999999999=EIO",
	} {
		p, err := inject.Parse(spec)
		if p != nil || fault.KindOf(err) != fault.Usage || fault.HintOf(err) == "" {
			t.Errorf("%q: got %v, %v; want no plan, a Usage fault, a hint", spec, p, err)
		}
	}
}

func TestABlockedPassContinuesWhenReleased(t *testing.T) {
	p := parse(t, "x:1=block")
	done := make(chan error)
	go func() { done <- p.At("x") }()
	if point := <-p.Reached(); point != "x" {
		t.Errorf("blocked at %q, want point %q", point, "x")
	}
	select {
	case err := <-done:
		t.Fatalf("the pass was not blocked: %v", err)
	default:
	}
	p.Release()
	p.Release()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("journal.append:17=kill,sync:3+=EIO,*:*=block")
	f.Fuzz(func(t *testing.T, spec string) {
		p, err := inject.Parse(spec)
		if (p == nil) != (err != nil || spec == "") {
			t.Errorf("%q: got %v, %v; want p == nil: %v", spec, p, err, (err != nil || spec == ""))
		}
	})
}
