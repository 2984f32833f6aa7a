package audit

// findEqual finds a patch that is the gold patch.
func findEqual(t *task, h *hits) {
	p := t.view.Patch
	if p == nil || t.row.Patch == "" || string(p.Text) != t.row.Patch {
		return
	}
	for _, f := range t.patch {
		h.add(nil, firstChange(f, nil), "")
		return
	}
}
