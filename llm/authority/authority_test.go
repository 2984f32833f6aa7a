package authority_test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/llm/authority"
)

func planted() authority.Authority {
	return authority.Authority{
		Actor: "planted-actor", ModelKey: "planted-key", Tokens: map[string]string{"planted-server": "planted-token"},
		Expires: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}

func TestAnAuthorityIsNeverShown(t *testing.T) {
	a := planted()
	values := map[string]any{
		"value": a, "pointer": &a, "in a struct": struct{ A authority.Authority }{a}, "in a list": []authority.Authority{a},
		"in a map": map[string]any{"a": &a}, "as a key": map[string]authority.Authority{"a": a},
		"in an error": fmt.Errorf("failed with %v and %+v", a, &a), "in a context": authority.With(context.Background(), &a),
	}
	for name, v := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%08.3f", "% x", "%T"} {
			shows(t, name+" "+verb, fmt.Sprintf(verb, v))
		}
		if text, err := json.Marshal(v); err == nil {
			shows(t, name+" JSON", string(text))
		}
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "a", v)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "a", v, slog.Group("g", "a", v))
		shows(t, name+" log", log.String())
	}
	text, err := xml.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	shows(t, "XML", string(text))
	shows(t, "String", a.String())
}

func shows(t *testing.T, how, text string) {
	t.Helper()
	if strings.Contains(text, "planted") || strings.Contains(text, "706c616e746564") || strings.Contains(text, "2026, 1") || strings.Contains(text, "2026-01-02") {
		t.Errorf("%s shows %s", how, text)
	}
}

func TestAnAuthorityExpires(t *testing.T) {
	a := planted()
	var none *authority.Authority
	for _, c := range []struct {
		name    string
		a       *authority.Authority
		now     time.Time
		expired bool
	}{
		{"none", none, a.Expires, false},
		{"forever", &authority.Authority{ModelKey: "k"}, a.Expires, false},
		{"before", &a, a.Expires.Add(-1), false},
		{"at the time", &a, a.Expires, true},
		{"after", &a, a.Expires.Add(time.Hour), true},
	} {
		err := c.a.Check(c.now)
		if (err != nil) != c.expired {
			t.Errorf("%s: %v, want expired: %v", c.name, err, c.expired)
		}
		if c.expired && (fault.KindOf(err) != fault.Expired || !errors.Is(err, authority.ErrExpired) || fault.HintOf(err) == "") {
			t.Errorf("%s: %v is %v, want %v around ErrExpired with a hint", c.name, err, fault.KindOf(err), fault.Expired)
		}
	}
}

func TestATurnHasItsOwnAuthorityAndNoOther(t *testing.T) {
	a := planted()
	ctx := authority.With(t.Context(), &a)
	if got := authority.From(ctx); got != &a {
		t.Errorf("got %p, want %p", got, &a)
	}
	if got := authority.From(authority.With(ctx, nil)); got != nil {
		t.Error("a turn without an authority inherits the authority of the surrounding context, want none")
	}
	if got := authority.From(t.Context()); got != nil {
		t.Error("a context without an authority has one")
	}
}
