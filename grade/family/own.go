package family

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/grade/logparse"
	"batch.example/batch/grade/program"
)

// A row of no known family, with a given script, and a given parser if the row names none.
func isOwn(r row) bool {
	return r.options.EvalScript != "" && (r.in.LogParser != "" || r.options.Parser != "")
}

// fillOwn is fillColumns: given options replace the columns afterwards.
func fillOwn(r row, t *Task) error { return fillColumns(r, t) }

// Saved logs of a row without a script; the parser is known from its column or repository.
func isLogs(r row) bool {
	_, known := logparse.ForRepo(r.in.Repo)
	return r.options.LogsOnly && (known || r.in.LogParser != "" || r.options.Parser != "")
}

func fillLogs(r row, t *Task) error {
	if name, known := logparse.ForRepo(r.in.Repo); known && r.in.LogParser == "" {
		t.named(name)
		return nil
	}
	return fillColumns(r, t)
}

// own applies the options, which override the family's values.
func (r row) own(t *Task) error {
	if path := r.options.EvalScript; path != "" {
		data, err := readScript(path, t.InstanceID)
		if err != nil {
			return err
		}
		t.Script = data
	}
	if path := r.options.Parser; path != "" {
		t.Parser = filepath.Base(path)
		t.parse = executable(path, t.InstanceID, r.in.LogParser)
	}
	return nil
}

// readScript reads the script for an instance from a file, or from its file in a folder.
func readScript(path, id string) (string, error) {
	names := []string{path}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		names = []string{filepath.Join(path, id, "eval.sh"), filepath.Join(path, id+".sh")}
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) && len(names) > 1 {
			continue
		}
		if err != nil {
			return "", fault.New(fault.Usage, "reading the eval script", err)
		}
		return string(data), nil
	}
	return "", fault.Newf(fault.Instance, "grading %s: %s has neither %s nor %s", id, path,
		filepath.Join(id, "eval.sh"), id+".sh")
}

// What a parser may take and print: far more than reading any log does.
const (
	parserTime   = 5 * time.Minute
	parserOutput = 256 << 20
)

// executable returns a parser that runs the program at path, as the package comment describes.
func executable(path, id, logParser string) parser {
	return func(ctx context.Context, log string, _ logparse.Rules) (logparse.Statuses, []string, error) {
		name, err := filepath.Abs(path) // a name without a slash is also a file in the current folder
		if err != nil {
			return nil, nil, fault.New(fault.Usage, "running the parser", err)
		}
		p := program.Program{Path: name, Args: []string{id, logParser}, Timeout: parserTime, Most: parserOutput}
		out, _, err := p.Run(ctx, []byte(log))
		switch {
		case ctx.Err() != nil:
			return nil, nil, err
		case err != nil:
			return nil, nil, fault.Newf(fault.Usage, "running the parser %s for %s: %w", path, id, err).
				WithHint("it has to be an executable file that exits with 0")
		}
		return statusesOf(path, id, out)
	}
}

// statusesOf reads the output of an executable. The order of names is unknown.
func statusesOf(path, id string, out []byte) (logparse.Statuses, []string, error) {
	bad := func(err error) error {
		return fault.Newf(fault.Usage, "reading what the parser %s printed for %s: %w", path, id, err).
			WithHint(`it has to print one JSON object such as {"test name": "PASSED"}, with PASSED, FAILED, SKIPPED, ERROR or XFAIL`)
	}
	var statuses logparse.Statuses
	if err := json.Unmarshal(out, &statuses); err != nil {
		return nil, nil, bad(err)
	}
	if statuses == nil {
		return nil, nil, bad(errors.New("null where an object should be"))
	}
	for name, s := range statuses {
		known, ok := statusWords[s]
		if !ok {
			return nil, nil, bad(fmt.Errorf("test %.100q has the status %.40q", name, s))
		}
		statuses[name] = known
	}
	return statuses, nil, nil
}

// statusWords are the statuses, and the words for them in parsers of SWE-bench-Live and
// Multi-SWE-bench.
var statusWords = map[string]string{
	"PASSED": logparse.Passed, "pass": logparse.Passed, "PASS": logparse.Passed,
	"FAILED": logparse.Failed, "fail": logparse.Failed, "FAIL": logparse.Failed,
	"SKIPPED": logparse.Skipped, "skip": logparse.Skipped, "SKIP": logparse.Skipped,
	"ERROR": logparse.Error, "XFAIL": logparse.XFail,
}
