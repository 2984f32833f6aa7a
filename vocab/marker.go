package vocab

// Marker is the line by which an agent submits: the command must exit with
// code 0 and this must be the first line of its output, white space aside.
const Marker = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
