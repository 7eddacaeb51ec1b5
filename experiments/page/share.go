package page

// Style is the report's style sheet, for a page that shall look like it.
func Style() string { return style }
