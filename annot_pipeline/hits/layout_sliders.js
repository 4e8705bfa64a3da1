    find(page, 'input[type=number]').forEach(function (number) {
      var slider = document.createElement('input');
      slider.type = 'range';
      slider.min = number.min;
      slider.max = number.max;
      slider.step = number.step || '1';
      slider.className = 'unset';
      slider.setAttribute('aria-label', number.getAttribute('aria-label') + ', slider');
      ['input', 'change', 'click'].forEach(function (event) {
        slider.addEventListener(event, function () { number.value = slider.value; moved(); });
      });
      function moved() {
        slider.className = number.value === '' ? 'unset' : '';
        settle(number.closest('.slot'));
      }
      number.addEventListener('input', function () {
        if (number.value !== '') slider.value = number.value;
        moved();
      });
      if (paged) number.required = false;  // a browser cannot point at what is not shown
      number.parentNode.insertBefore(limit(number.min), number);
      number.parentNode.insertBefore(slider, number);
      number.parentNode.insertBefore(limit(number.max), number);
    });

    function limit(level) {
      var span = document.createElement('span');
      span.textContent = level;
      return span;
    }

    function isOpen(slot) {
      return find(slot, 'input[type=number]').some(function (number) {
        return number.value === '' || !number.checkValidity();
      });
    }
