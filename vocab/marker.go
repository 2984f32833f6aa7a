package vocab

// Marker is the line with which an agent submits: the command must exit with code 0
// and its output must begin with this line, ignoring leading white space.
const Marker = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
