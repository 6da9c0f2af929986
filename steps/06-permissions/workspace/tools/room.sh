# The tower's disk is small. What is kept must leave room for a year of logs.
used=$(cat archive/* exports/* notes.txt | wc -c)
echo "$((16000 - used)) of 16000 bytes are free"
