package family

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"batch.example/batch/grade"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/internal/lazy"
)

// R2E-Gym has its tests in the image, hidden from the agent, and the expected status of each
// in the row (R2E-Gym/R2E-Gym, agenthub/runtime/docker.py).
func isR2E(r row) bool { return r.has("expected_output_json") }

// r2eSetup moves the script and the tests out of the patch's reach, like the reference.
const r2eSetup = `set -e
for f in run_tests.sh r2e_tests; do
  if [ -e "$f" ] && [ ! -L "$f" ]; then rm -rf "/root/$f"; mv "$f" "/root/$f"; fi
done
if [ -e /r2e_tests ]; then rm -rf /root/r2e_tests; mv /r2e_tests /root/r2e_tests; fi
[ -e /root/.venv ] || ln -s "$PWD/.venv" /root/.venv
find . /root/r2e_tests -name __pycache__ -prune -exec rm -rf {} + || true
`

func fillR2E(r row, t *Task) error {
	expected, err := r2eExpected(r.text("expected_output_json"))
	if err != nil {
		return r.fault("column expected_output_json: %w", err)
	}
	if gold := r2eGold(r.text("parsed_commit_content")); t.Gold == nil && gold != "" {
		t.Gold = []byte(gold)
	}
	t.Workdir = testbed
	t.Setup = r2eSetup
	t.Script = script([]string{
		"cd " + testbed + needed,
		"export PATH=/root/.venv/bin:/root/.local/bin:/root/.cargo/bin:$PATH",
		"rm -rf r2e_tests && ln -s /root/r2e_tests r2e_tests" + needed,
	}, []string{"bash /root/run_tests.sh"})
	t.Timeout = 5 * time.Minute
	t.Parser = "r2e_gym"
	t.parse = r2eParse
	t.Tests = grade.Tests{PassToPass: slices.Sorted(maps.Keys(expected))}
	t.rule = func(s logparse.Statuses, _ grade.Tests) outcome { return exactly(s, expected) }
	return nil
}

func r2eExpected(text string) (logparse.Statuses, error) {
	var m logparse.Statuses
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return nil, err
	}
	if len(m) == 0 {
		return nil, fmt.Errorf("it has no test")
	}
	return logparse.NormalizeR2EGym(m), nil
}

// r2eEscape matches text that the reference removes from the output before reading it.
var r2eEscape = lazy.Regexp("\x1b\\[[0-9;]*m|\r")

func r2eParse(_ context.Context, log string, r logparse.Rules) (logparse.Statuses, []string, error) {
	return logparse.Parse("r2e_gym", r2eEscape().ReplaceAllString(log, ""), logparse.Row{}, r)
}

// exactly requires the same tests with the same statuses as expected, no more and no fewer.
func exactly(s, expected logparse.Statuses) outcome {
	tests := grade.Tests{PassToPass: slices.Sorted(maps.Keys(expected))}
	o := all(tests, nil, func(test string) bool { return s[test] == expected[test] })
	if o.resolved && len(s) != len(expected) {
		o.resolved = false
		o.why = fmt.Sprintf("%d tests ran where %d are expected", len(s), len(expected))
	}
	return o
}

// r2eCommit is the commit that solves an instance of R2E-Gym (commit_models/diff_classes.py), from
// column parsed_commit_content.
type r2eCommit struct {
	FileDiffs []struct {
		Header struct {
			File     r2eFile
			MiscLine string `json:"misc_line"`
		}
		IndexLine *struct {
			Old  string `json:"old_commit_hash"`
			New  string `json:"new_commit_hash"`
			Mode string
		} `json:"index_line"`
		MinusFile *r2eFile `json:"minus_file"`
		PlusFile  *r2eFile `json:"plus_file"`
		Hunks     []struct {
			Descriptor struct {
				OldRange r2eRange `json:"old_range"`
				NewRange r2eRange `json:"new_range"`
				Section  string
			}
			LineGroup struct {
				Lines []struct{ Content, Type string } `json:"all_lines"`
			} `json:"line_group"`
		}
	} `json:"file_diffs"`
}

type r2eFile struct{ Path string }

type r2eRange struct {
	Start  int
	Length *int
}

func (r r2eRange) String() string {
	if r.Length == nil {
		return fmt.Sprint(r.Start)
	}
	return fmt.Sprintf("%d,%d", r.Start, *r.Length)
}

var r2eLineMarks = map[string]string{"context": " ", "added": "+", "deleted": "-", "note": `\ `}

// r2eGold returns the patch that R2E-Gym uses to validate its rows: the commit's changes to Python
// files. It is "" if the column is missing or has another form.
func r2eGold(text string) string {
	var commit r2eCommit
	if json.Unmarshal([]byte(text), &commit) != nil {
		return ""
	}
	var b strings.Builder
	for _, f := range commit.FileDiffs {
		path := f.Header.File.Path
		if !strings.HasSuffix(path, ".py") {
			continue
		}
		fmt.Fprintf(&b, "diff --git a/%s b/%s\n", path, path)
		if f.Header.MiscLine != "" {
			fmt.Fprintln(&b, f.Header.MiscLine)
		}
		if f.IndexLine != nil {
			fmt.Fprintln(&b, strings.TrimSuffix("index "+f.IndexLine.Old+".."+f.IndexLine.New+" "+f.IndexLine.Mode, " "))
		}
		if f.MinusFile != nil && f.PlusFile != nil {
			fmt.Fprintf(&b, "--- %s\n+++ %s\n", f.MinusFile.Path, f.PlusFile.Path)
		}
		for _, h := range f.Hunks {
			head := fmt.Sprintf("@@ -%v +%v @@ %s", h.Descriptor.OldRange, h.Descriptor.NewRange, h.Descriptor.Section)
			fmt.Fprintln(&b, strings.TrimSuffix(head, " "))
			for _, line := range h.LineGroup.Lines {
				fmt.Fprintln(&b, r2eLineMarks[line.Type]+line.Content)
			}
		}
	}
	return b.String()
}
