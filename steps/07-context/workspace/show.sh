# The stations of one district, without remarks: sh show.sh 05
sed -n '/^[0-9]/p' "stations/$1.conf"
