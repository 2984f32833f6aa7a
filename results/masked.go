package results

import "batch.example/batch/internal/mask"

// masked hides secrets where that has to come before the data is encoded: in
// the bytes that stand in base64, and in a command, of which it is told.
func masked(m *mask.Masker, v any) any {
	switch d := v.(type) {
	case ActionData:
		hidden := m.Text(d.Command)
		d.Masked, d.Command = hidden != d.Command, hidden
		return d
	case OutputData:
		d.Output = m.Bytes(d.Output)
		return d
	case DifferenceData:
		d.Output = m.Bytes(d.Output)
		return d
	}
	return v
}
