# Prints what the radio heard tonight, and empties its memory: sh radio.sh
cat radio.txt && rm radio.txt
