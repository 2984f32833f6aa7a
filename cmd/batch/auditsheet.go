package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"batch.example/batch/audit"
	"batch.example/batch/internal/printable"
)

// auditSheet collects what an audit found, or prints it at once as JSON.
type auditSheet struct {
	flags    auditFlags
	several  bool // places
	json     func(v any) error
	attempts int
	list     []placedFinding
	not      []placedNot
	failed   error // the first error of writing JSON
}

// placedFinding is a finding with its directory. Its JSON form stays the same between versions;
// members may be added.
type placedFinding struct {
	Directory string `json:"directory"`
	audit.Finding
}

// placedNot is a detector that did not check an attempt, with the attempt's directory.
type placedNot struct {
	Directory string `json:"directory"`
	audit.NotChecked
}

// add takes what was found in an attempt.
func (s *auditSheet) add(one audited) {
	s.attempts++
	for _, f := range one.Found {
		if s.flags.wants(f.Detector) {
			s.take(placedFinding{one.Directory, f}, placedNot{})
		}
	}
	for _, n := range one.Not {
		if s.flags.wants(n.Detector) {
			s.take(placedFinding{}, placedNot{one.Directory, n})
		}
	}
}

func (s *auditSheet) take(f placedFinding, n placedNot) {
	switch {
	case s.flags.asJSON && f.Detector != "":
		s.encode(f)
	case s.flags.asJSON:
		s.encode(n)
	case f.Detector != "":
		s.list = append(s.list, f)
	default:
		s.not = append(s.not, n)
	}
}

func (s *auditSheet) encode(v any) {
	if err := s.json(v); err != nil && s.failed == nil {
		s.failed = err
	}
}

// write prints the findings by detector, then by instance and step.
func (s *auditSheet) write(w io.Writer) error {
	var none []string
	for _, d := range audit.Detectors() {
		of := slices.DeleteFunc(slices.Clone(s.list), func(f placedFinding) bool { return f.Detector != d.Name })
		switch {
		case !s.flags.wants(d.Name):
		case len(of) > 0:
			if err := s.writeDetector(w, d, of); err != nil {
				return err
			}
		case !s.unchecked(d.Name):
			none = append(none, d.Name)
		}
	}
	s.writeNot(w)
	fmt.Fprintf(w, "%s in %s, by version %d of the detectors", printable.Count(len(s.list), "finding", "findings"), printable.Count(s.attempts, "attempt", "attempts"), audit.Version)
	if len(s.list) > 0 {
		fmt.Fprint(w, "; each is a place to read, and changes no score")
	}
	fmt.Fprintln(w)
	if len(none) > 0 {
		fmt.Fprintln(w, printable.Wrapped("no sign found by ", "  ", none, 80))
	}
	return nil
}

// unchecked reports whether a detector could check no attempt.
func (s *auditSheet) unchecked(detector string) bool {
	n := 0
	for _, not := range s.not {
		if not.Detector == detector {
			n++
		}
	}
	return n > 0 && n >= s.attempts
}

func (s *auditSheet) writeDetector(w io.Writer, d audit.Detector, list []placedFinding) error {
	fmt.Fprintf(w, "%s: %s\n", d.Name, printable.Count(len(list), "finding", "findings"))
	fmt.Fprintln(w, "  "+printable.Words(d.Not, "  ", 78))
	var t printable.Table
	heads := []any{"  INSTANCE", "ATTEMPT", "STEP", "EVIDENCE"}
	if s.several {
		heads = slices.Insert(heads, 0, any("  DIRECTORY"))
		heads[1] = "INSTANCE"
	}
	t.Row(heads...)
	for _, f := range list {
		cells := []any{"  " + f.Instance, attemptName(f.Finding), placeName(f.Finding), f.Evidence}
		if s.several {
			cells = slices.Insert(cells, 0, any("  "+f.Directory))
			cells[1] = f.Instance
		}
		t.Row(cells...)
	}
	if err := t.Write(w); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// attemptName is the number of the attempt; other tools do not count them.
func attemptName(f audit.Finding) string {
	if f.Attempt == 0 {
		return "-"
	}
	return strconv.Itoa(f.Attempt)
}

// placeName names the step of a finding, and the action if it is not the first one.
func placeName(f audit.Finding) string {
	switch {
	case f.Step == 0:
		return "patch"
	case f.Action > 1:
		return fmt.Sprintf("%d.%d", f.Step, f.Action)
	}
	return strconv.Itoa(f.Step)
}

// reason is why attempts were not checked, and how many.
type reason struct {
	why      string
	attempts int
}

// writeNot says which detectors did not check how many attempts, by reason.
func (s *auditSheet) writeNot(w io.Writer) {
	names := map[reason][]string{}
	var order []reason
	for _, d := range audit.Detectors() {
		for _, r := range s.reasons(d.Name) {
			if names[r] == nil {
				order = append(order, r)
			}
			names[r] = append(names[r], d.Name)
		}
	}
	for _, r := range order {
		fmt.Fprintln(w, printable.Wrapped("not checked by ", "  ", names[r], 80))
		fmt.Fprintf(w, "  in %s: %s\n", printable.Count(r.attempts, "attempt", "attempts"), printable.Line(r.why))
	}
}

// reasons returns why a detector did not check attempts, and how many, in the order of attempts.
func (s *auditSheet) reasons(detector string) (list []reason) {
	at := map[string]int{}
	for _, n := range s.not {
		if n.Detector != detector {
			continue
		}
		i, known := at[n.Why]
		if !known {
			i = len(list)
			at[n.Why] = i
			list = append(list, reason{why: n.Why})
		}
		list[i].attempts++
	}
	return list
}

// listDetectors prints what the detectors look for.
func (a *app) listDetectors(asJSON bool) error {
	each := a.jsonLines()
	for _, d := range audit.Detectors() {
		if asJSON {
			if err := each(d); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintln(a.stdout, d.Name)
		for _, text := range []string{d.Looks, d.Not} {
			fmt.Fprintln(a.stdout, "  "+printable.Words(text, "  ", 78))
		}
	}
	return nil
}
