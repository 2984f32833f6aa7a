package results

import "batch.example/batch/internal/mask"

// encodeMasked returns v as the JSON of a record of the given type, with its
// secrets hidden unless it holds what was handed in.
func encodeMasked(m *mask.Masker, typ string, v any) ([]byte, error) {
	data, err := compactJSON(masked(m, v))
	if out, ok := v.(OutputData); typ == TypeSubmission || ok && out.Exact {
		return data, err
	}
	return m.JSON(data), err
}

// masked hides secrets where that has to come before the data is encoded: in
// the bytes that stand in base64, and in a command, of which it is told.
func masked(m *mask.Masker, v any) any {
	switch d := v.(type) {
	case ActionData:
		hidden := m.Text(d.Command)
		d.Masked, d.Command = hidden != d.Command, hidden
		return d
	case OutputData:
		if !d.Exact {
			d.Output = m.Bytes(d.Output)
		}
		return d
	case DifferenceData:
		d.Output = m.Bytes(d.Output)
		return d
	}
	return v
}
