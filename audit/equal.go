package audit

// findEqual finds a patch that is the gold patch.
func findEqual(t *task, h *hits) {
	p := t.view.Patch
	if p == nil || t.row.Patch == "" || string(p.Text) != t.row.Patch {
		return
	}
	if len(t.patch) == 0 {
		h.add(nil, t.row.Patch, "")
		return
	}
	h.add(nil, firstChange(t.patch[0], nil), "")
}
