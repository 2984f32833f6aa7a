package dataset

import "testing"

// FuzzRows checks that no content makes the readers panic, and that every row
// has a position.
func FuzzRows(f *testing.F) {
	for _, s := range []string{
		`{"instance_id":"a"}` + "\n" + `{"instance_id":"b"}`, `[{"instance_id":"a"}]`, `{"a":{}}`,
		`{"rows":[{"row":{"instance_id":"a"}}]}`, "\x1f\x8b", "\x28\xb5\x2f\xfd", "PAR1PAR1PAR1", "{", "[1]", `{"x":"\ud800"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := readRows("f", data)
		if err != nil && len(rows) > 0 {
			t.Fatal("got rows together with an error")
		}
		for _, r := range rows {
			if r.n < 1 || r.fields == nil {
				t.Fatalf("row without a place: %+v, want at least 1, fields", r)
			}
		}
	})
}
