package audit

func findNetwork(t *task, h *hits)    {}
func findHistory(t *task, h *hits)    {}
func findGoldText(t *task, h *hits)   {}
func findTestFiles(t *task, h *hits)  {}
func findTestConfig(t *task, h *hits) {}
func findHardCoded(t *task, h *hits)  {}
func findStartup(t *task, h *hits)    {}
func findHelper(t *task, h *hits)     {}
func findOthers(t *task, h *hits)     {}
func findTaskSearch(t *task, h *hits) {}
func findEqual(t *task, h *hits)      {}
