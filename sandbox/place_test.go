package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"batch.example/batch/dataset"
	"batch.example/batch/fault"
	"batch.example/batch/internal/enginetest"
	"batch.example/batch/sandbox/engine"
	conformance "batch.example/batch/sandbox/engine/enginetest"
	"batch.example/batch/sandbox/engine/memory"
	"batch.example/batch/sandbox/images"
)

// fits returns an engine on which so many sandboxes fit.
func fits(name string, room, limit int, images ...string) *site {
	s := &site{Engine: Engine{Address: name}, room: room, limit: limit, open: map[bool]int{}, has: map[string]bool{}}
	for _, ref := range images {
		s.has[ref] = true
	}
	return s
}

// placed takes places for sandboxes from images, and returns the engines; "-": none is free.
func placed(p *placement, sites []*site, images ...string) (names []string) {
	for _, ref := range images {
		if s, _ := p.take(sites, ref, false); s != nil {
			names = append(names, s.Address)
		} else {
			names = append(names, "-")
		}
	}
	return names
}

func TestPlacement(t *testing.T) {
	for name, tt := range map[string]struct {
		sites  []*site
		images string
		want   string
	}{
		"most room":                       {[]*site{fits("a", 2, 0), fits("b", 4, 0)}, "x y z u", "b a b b"},
		"where the image is":              {[]*site{fits("a", 9, 0), fits("b", 2, 0, "x")}, "x x y", "b b a"},
		"not beyond the room for it":      {[]*site{fits("a", 9, 0), fits("b", 2, 0, "x")}, "x x x x", "b b a a"},
		"where the image is, if all full": {[]*site{fits("a", 1, 0), fits("b", 1, 0, "x")}, "y x x", "a b b"},
		"never beyond a limit":            {[]*site{fits("a", 1, 1), fits("b", 2, 2, "x")}, "x x x x y", "b b a - -"},
	} {
		if got := placed(newPlacement(), tt.sites, strings.Fields(tt.images)...); !slices.Equal(got, strings.Fields(tt.want)) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// Pristine sandboxes have places of their own, so that tests do not wait for agents that wait for
// them.
func TestPlacesOfTestsAreSeparate(t *testing.T) {
	p, sites := newPlacement(), []*site{fits("a", 1, 1)}
	first, _ := p.take(sites, "x", false)
	tests, _ := p.take(sites, "x", true)
	second, changed := p.take(sites, "x", false)
	if first == nil || tests == nil || second != nil {
		t.Fatalf("places %v, %v and %v; want one for an agent, one for tests, and no more", first, tests, second)
	}
	p.leave(first, false)
	<-changed
	if second, _ = p.take(sites, "x", false); second == nil {
		t.Error("the place that was left is not free")
	}
}

// An image is pulled ahead on the engines that have it already, otherwise on one.
func TestImagesAreDividedAmongEngines(t *testing.T) {
	a, b := fits("a", 2, 0, "x"), fits("b", 4, 0, "x", "y")
	var needs []images.Need
	for i, ref := range strings.Fields("x y p q r s t u p") {
		needs = append(needs, images.Need{ID: fmt.Sprint(i), Ref: ref})
	}
	p := newPlacement()
	var got []string
	planned := p.plan([]*site{a, b}, needs)
	for _, s := range []*site{a, b} {
		var refs []string
		for _, n := range planned[s] {
			refs = append(refs, n.Ref)
		}
		got = append(got, strings.Join(refs, " "))
	}
	if want := []string{"x q t", "x y p r s u p"}; !slices.Equal(got, want) {
		t.Errorf("planned %q, want %q: twice as many on the engine with twice the room", got, want)
	}
	if at := placed(p, []*site{a, b}, "q", "p"); !slices.Equal(at, []string{"a", "b"}) {
		t.Errorf("placed on %q, want the engines on which the images are pulled", at)
	}
}

// away is an engine that can be away. It has nothing else.
type away struct {
	engine.Engine
	until    time.Time
	patience time.Duration
}

func (e *away) Ready(ctx context.Context) error {
	if !time.Now().Before(e.until) {
		return nil
	}
	select {
	case <-time.After(time.Until(e.until)):
		return nil
	case <-time.After(e.patience):
		return fault.Newf(fault.Host, "no answer for %v", e.patience)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func TestAnEngineThatIsAwayIsNotChosen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := fits("a", 9, 0, "x"), fits("b", 1, 0)
		gone, back := &away{until: time.Now().Add(time.Hour), patience: time.Minute}, &away{patience: time.Minute}
		a.engine, b.engine = gone, back
		h := &Host{common: newCommon(Config{}, newPlacement(), []*site{a, b}, nil)}
		if s, _, err := h.enter(t.Context(), "x", false, nil); s != b {
			t.Errorf("got %v, %v; want the engine that answers, although the other one has the image", s, err)
		}
		back.until = time.Now().Add(30 * time.Second)
		began := time.Now()
		if s, _, err := h.enter(t.Context(), "x", false, nil); s != b || time.Since(began) != 30*time.Second {
			t.Errorf("got %v, %v after %v; want the first engine that answers again, after 30s", s, err, time.Since(began))
		}
		back.until = time.Now().Add(time.Hour)
		began = time.Now()
		_, _, err := h.enter(t.Context(), "x", false, nil)
		if fault.KindOf(err) != fault.Host || time.Since(began) != time.Minute || !strings.Contains(err.Error(), "no engine is left") {
			t.Errorf("got %v after %v; want a Host fault when the patience with all engines is over", err, time.Since(began))
		}
		if err := h.elsewhere(a, err); fault.KindOf(err) != fault.Transient || !errors.Is(err, engine.ErrOutage) {
			t.Errorf("the fault of one engine is %v, want a Transient one of an outage", err)
		}
	})
}

// twoHosts returns a host on two engines that run plain processes, and an instance.
func twoHosts(t *testing.T, set func(*Config)) (*Host, dataset.Instance, error) {
	t.Helper()
	c := Config{
		Engines: []Engine{{Address: "first", Connect: memory.At(t.TempDir()), Workers: 1}, {Address: "second", Connect: memory.At(t.TempDir()), Workers: 1}},
		State:   t.TempDir(), Timeout: time.Minute, Container: engine.Spec{WorkDir: "/testbed", Unattended: 5 * time.Minute},
	}
	set(&c)
	h, err := Start(t.Context(), c)
	if err == nil {
		t.Cleanup(func() {
			if err := h.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	return h, dataset.Instance{ID: "plain", Image: enginetest.Directory(t, strings.Fields(conformance.Tools), nil)}, err
}

func TestSandboxesAreOpenedOnTwoEngines(t *testing.T) {
	h, in, err := twoHosts(t, func(*Config) {})
	if err != nil {
		enginetest.Lacks(t, "%v", err)
	}
	first, second := h.open(t, Opening{Instance: in, Attempt: 1}), h.open(t, Opening{Instance: in, Attempt: 2})
	if a, b := first.Facts().Engine, second.Facts().Engine; a == b || a+b != "firstsecond" && a+b != "secondfirst" {
		t.Fatalf("sandboxes on %q and %q, want one on each", a, b)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := h.Open(ctx, Opening{Instance: in, Attempt: 3, Report: func(string) {}}); !fault.Canceled(err) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a third sandbox: %v; want a wait for a place", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	third := h.open(t, Opening{Instance: in, Attempt: 3})
	if got, want := third.Facts().Engine, first.Facts().Engine; got != want {
		t.Errorf("the third sandbox is on %q, want %q, where a place became free", got, want)
	}
}

func TestAnAbsentEngineIsNotUsed(t *testing.T) {
	absent := func(context.Context, engine.Options) (engine.Engine, error) {
		return nil, fault.Newf(fault.Host, "it is off").WithHint("start it")
	}
	var said []string
	h, in, err := twoHosts(t, func(c *Config) {
		c.Engines[0].Connect, c.Engines[1].Workers = absent, 0
		c.Notify = func(text string) { said = append(said, text) }
	})
	if err != nil {
		enginetest.Lacks(t, "%v", err)
	}
	if box := h.open(t, Opening{Instance: in, Attempt: 1}); box.Facts().Engine != "second" {
		t.Errorf("a sandbox on %q, want second", box.Facts().Engine)
	}
	if len(said) != 1 || !strings.Contains(said[0], "engine first is not used until it answers: it is off") {
		t.Errorf("said %q, want that the first engine is not used", said)
	}
	_, _, err = twoHosts(t, func(c *Config) {
		c.Engines[0].Connect, c.Engines[1].Connect, c.Log = absent, absent, slog.New(slog.DiscardHandler)
	})
	if fault.KindOf(err) != fault.Host || fault.HintOf(err) != "start it" {
		t.Errorf("without any engine: %v (%s), want a Host fault with a hint", err, fault.HintOf(err))
	}
}
