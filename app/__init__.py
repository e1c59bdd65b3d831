"""Front ends: the window and the command line. Shows records, sends commands; knows no tensor."""
