package logparse

import (
	"encoding/json"
	"strings"
)

// rebenchDart reads the events of Dart's JSON reporter, one or a list of them in a line.
func rebenchDart(log string, _ input, out *results) error {
	names := map[any]string{}
	for line := range splitLines(log) {
		for _, e := range dartEvents(strip(line)) {
			switch e["type"] {
			case "testStart":
				test, _ := e["test"].(map[string]any)
				name, _ := test["name"].(string)
				if id := dartID(test["id"]); id != nil && name != "" && !strings.HasPrefix(name, "loading ") {
					names[id] = name
				}
			case "testDone":
				name, known := names[dartID(e["testID"])]
				if status := dartStatus(e); known && status != "" && !isTrue(e["hidden"]) {
					out.set(name, status)
				}
			}
		}
	}
	return nil
}

// dartEvents returns the objects in a line.
func dartEvents(line string) (events []map[string]any) {
	var value any
	if !strings.HasPrefix(line, "{") && !strings.HasPrefix(line, "[") || json.Unmarshal([]byte(line), &value) != nil {
		return nil
	}
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	for _, v := range list {
		if e, ok := v.(map[string]any); ok {
			events = append(events, e)
		}
	}
	return events
}

// dartID returns an id that names can be looked up by, or nil.
func dartID(v any) any {
	switch v.(type) {
	case float64, string, bool:
		return v
	}
	return nil
}

// isTrue is Python's bool of a JSON value.
func isTrue(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case float64:
		return v != 0
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return false
}

func dartStatus(event map[string]any) string {
	switch event["result"] {
	case "success":
		return Passed
	case "failure":
		return Failed
	case "error":
		return Error
	}
	if isTrue(event["skipped"]) {
		return Skipped
	}
	return ""
}

var dartPackageLine = expression(`^\[[` + wordChars + `]+\]:\s+\d{2}:\d{2}\s+\+\d+:\s+(/[^:]+\.dart):\s+(.+)$`)

// rebenchDart2 reads melos' output, which has two lines for a finished test.
func rebenchDart2(line string, out *results) {
	if strings.Contains(strings.ToLower(line), "loading") {
		return
	}
	if m := dartPackageLine().FindStringSubmatch(line); m != nil {
		name := m[1] + ": " + m[2]
		if _, known := out.statuses[name]; known {
			out.set(name, Passed)
		} else {
			out.set(name, Error)
		}
	}
}

var (
	dartLine    = expression(`^\d+:\d+\s+\+\d+(?:\s+-\d+)?:\s+(/[^:]+\.dart):\s+(.+?)(?:\s+\[E\])?$`)
	dartLoading = expression(`^\d+:\d+\s+\+\d+\s+-\d+:\s+loading\s+(/[^:]+\.dart)\s+\[E\]$`)
)

// rebenchDart3 reads the output of `flutter test`.
func rebenchDart3(line string, out *results) {
	if m := dartLoading().FindStringSubmatch(line); m != nil {
		out.set(m[1], Error)
		return
	}
	m := dartLine().FindStringSubmatch(line)
	if m == nil {
		return
	}
	if name := m[1] + ": " + strip(m[2]); strings.Contains(line, "[E]") {
		out.set(name, Failed)
	} else {
		out.setFirst(name, Passed)
	}
}
