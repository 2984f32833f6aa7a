package export

import (
	"bytes"
	"encoding/json"

	"batch.example/batch/results"
	"batch.example/batch/results/trajectory"
)

// Render returns what the outputs write for a trajectory, without files; nothing if it is
// not exported.
func Render(text []byte) (chat, atif []byte, err error) {
	v, err := trajectory.Parse(text)
	if err != nil || len(v.Steps) == 0 {
		return nil, nil, nil
	}
	v.Patch = &trajectory.Patch{}
	a := Options{Reasoning: true}.attemptOf(Run{Name: "r", Snapshot: &results.Snapshot{}}, results.Record{InstanceID: "a"}, v)
	if !a.unheard() {
		if chat, err = json.Marshal(a.line()); err != nil {
			return nil, nil, err
		}
	}
	var b bytes.Buffer
	_, err = a.encodeATIF(&b)
	for i := range v.Steps {
		a.row(&v.Steps[i])
	}
	return chat, b.Bytes(), err
}
