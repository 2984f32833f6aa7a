package fault_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"testing"

	"batch.example/batch/fault"
	"batch.example/batch/vocab"
)

func TestKindSurvivesWrapping(t *testing.T) {
	inner := fault.New(fault.Transient, "pulling image x", io.ErrUnexpectedEOF).WithHint("try again")
	err := fmt.Errorf("instance y: %w", inner)
	if got := fault.KindOf(err); got != fault.Transient {
		t.Errorf("KindOf = %v, want transient", got)
	}
	if got := fault.HintOf(err); got != "try again" {
		t.Errorf("HintOf = %q, want %q", got, "try again")
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error("the wrapped error lost its cause")
	}
	if got, want := err.Error(), "instance y: pulling image x: unexpected EOF"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
}

func TestOutermostKindWins(t *testing.T) {
	err := fault.New(fault.Host, "starting", fault.New(fault.Transient, "dialing", io.EOF).WithHint("inner"))
	if got := fault.KindOf(err); got != fault.Host {
		t.Errorf("KindOf = %v, want host", got)
	}
	if got := fault.HintOf(err); got != "inner" {
		t.Errorf("HintOf = %q, want the inner hint where the outer has none", got)
	}
	err = fault.New(fault.Unknown, "doing", fault.New(fault.Instance, "reading", io.EOF))
	if got := fault.KindOf(err); got != fault.Instance {
		t.Errorf("KindOf = %v, want the first known kind", got)
	}
}

func TestACancellationHasNoKind(t *testing.T) {
	if err := fmt.Errorf("asking: %w", context.Canceled); !fault.Canceled(err) || fault.KindOf(err) != fault.Unknown {
		t.Errorf("%v: not recognized as canceled", err)
	}
	if fault.Canceled(fault.New(fault.Host, "dialing", context.Canceled)) {
		t.Error("a host fault is not a cancellation")
	}
	if fault.Canceled(nil) || fault.KindOf(nil) != fault.Unknown {
		t.Error("nil counts as canceled")
	}
}

func TestStatusNamesEveryKind(t *testing.T) {
	seen := map[vocab.Status]bool{}
	for k := fault.Unknown; k <= fault.Expired; k++ {
		if s := k.Status(); seen[s] {
			t.Errorf("%v: status %q is used twice", k, s)
		} else {
			seen[s] = true
		}
	}
}

// The package comment is a part of the page about statuses.
func TestThePageNamesEveryKind(t *testing.T) {
	page, err := os.ReadFile("../docs/statuses.md")
	if err != nil {
		t.Fatal(err)
	}
	for k := fault.Unknown; k <= fault.Expired; k++ {
		row := fmt.Sprintf(`(?m)^    %v +%s +\S`, k, k.Status())
		if !regexp.MustCompile(row).Match(page) {
			t.Errorf("docs/statuses.md lacks the kind %v with its status %s", k, k.Status())
		}
	}
}
