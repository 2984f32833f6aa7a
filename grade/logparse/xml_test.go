package logparse_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"batch.example/batch/fault"
	"batch.example/batch/grade/logparse"
)

// Python's ElementTree refuses each of these reports; encoding/xml alone accepts all of them.
func TestXMLThatIsNotWellFormedIsRefused(t *testing.T) {
	for _, inner := range []string{
		`<a b="" b=""/>`, `<p:a/>`, `<a p:b=""/>`, `<a xmlns:p=""/>`, `<!DOCTYPE a>`, `<?xml version="1.0"?>`, `<?a:b?>`, `<a:/>`,
	} {
		_, _, err := logparse.Parse("parse_log_doctest", "<doctest>"+inner+"</doctest>", logparse.Row{}, logparse.V5)
		if fault.KindOf(err) != fault.Instance {
			t.Errorf("%s: got %v, want an instance fault", inner, err)
		}
	}
}

func TestBlanksInValuesOfXMLAreSpacesUnlessTheyAreReferences(t *testing.T) {
	log := "<doctest><TestCase\r\nname='a\r\n\tb&#9;&#xA;c'><SubCase name=\"\n&amp;\"/><SubCase xmlns:p='p\tq' p:name='x'/>" +
		"<p:SubCase xmlns:p='u' name='y'/></TestCase></doctest>"
	got, _, err := logparse.Parse("parse_log_doctest", log, logparse.Row{}, logparse.V5)
	if err != nil {
		t.Fatal(err)
	}
	want := logparse.Statuses{"a  b\t\nc >  &": logparse.Passed, "a  b\t\nc > None": logparse.Passed}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
